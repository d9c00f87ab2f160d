import BywayHTTPWire
import NIOCore

/// The part of a request after its head that has arrived so far, kept while it may have to be sent for the first time or again.
///
/// Bytes that wait for the first attempt are limited by the sender's window; bytes kept for another one by `replayLimit`.
struct RequestBacklog {
  /// The maximum number of body bytes that are kept for another attempt.
  static let usualLimit = 64 * 1024

  private let replayLimit: Int
  private var chunks: [ByteBuffer] = []
  private var bytes = 0
  private(set) var isComplete: Bool
  private(set) var trailers: FieldSection?
  /// Whether everything since the head is still kept.
  private(set) var isWhole = true

  init(isComplete: Bool, replayLimit: Int = usualLimit) {
    self.isComplete = isComplete
    self.replayLimit = replayLimit
  }

  mutating func append(_ chunk: ByteBuffer, isSent: Bool) {
    guard isWhole else { return }
    chunks.keep(chunk)
    bytes += chunk.readableBytes
    if isSent { trim() }
  }

  mutating func finish(trailers: FieldSection?) {
    isComplete = true
    if isWhole { self.trailers = trailers }
  }

  /// Returns everything so far, which is about to be sent.
  mutating func takeUnsent() -> (chunks: [ByteBuffer], trailers: FieldSection?) {
    let unsent = (chunks, trailers)
    trim()
    return unsent
  }

  /// Discards the body and the trailers: they will not be sent again.
  mutating func drop() {
    isWhole = false
    chunks = []
    trailers = nil
  }

  /// Starts the body over.
  mutating func restart() {
    self = RequestBacklog(isComplete: false, replayLimit: replayLimit)
  }

  private mutating func trim() {
    if bytes > replayLimit { drop() }
  }
}
