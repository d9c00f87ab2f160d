import HTTPWire
import NIOCore

/// What has come of a request after its head, kept while it may have to be sent for the first time or once more.
///
/// What waits for a first sending is bounded by the sender's window; what is kept for a second one by `replayLimit`.
struct RequestBacklog {
  /// The bytes of a body that are kept for a second sending.
  static let usualLimit = 64 * 1024

  private let replayLimit: Int
  private var chunks: [ByteBuffer] = []
  private var bytes = 0
  private(set) var isComplete: Bool
  private(set) var trailers: FieldSection?
  /// Everything since the head is still here.
  private(set) var isWhole = true

  init(isComplete: Bool, replayLimit: Int = usualLimit) {
    self.isComplete = isComplete
    self.replayLimit = replayLimit
  }

  mutating func append(_ chunk: ByteBuffer, isSent: Bool) {
    guard isWhole else { return }
    chunks.append(chunk)
    bytes += chunk.readableBytes
    if isSent { trim() }
  }

  mutating func finish(trailers: FieldSection?) {
    isComplete = true
    self.trailers = trailers
  }

  /// Everything so far, which is about to be sent.
  mutating func takeUnsent() -> [ByteBuffer] {
    let unsent = chunks
    trim()
    return unsent
  }

  /// No second sending will be needed.
  mutating func drop() {
    isWhole = false
    chunks = []
  }

  /// The body starts again from its beginning.
  mutating func restart() {
    self = RequestBacklog(isComplete: false, replayLimit: replayLimit)
  }

  private mutating func trim() {
    if bytes > replayLimit { drop() }
  }
}
