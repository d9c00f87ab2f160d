import HTTPWire
import NIOCore

/// A request on its way through as many connections as it takes: what has come of it, how often it was sent, and for how
/// many of its bytes the sender was told.
///
/// A value that never calls its owner's sink: that may come back with more of the request.
struct ReplayableRequest {
  let head: ExchangeHead
  private(set) var body: RequestBacklog
  private(set) var hasResponse = false
  private var attempts = 0
  /// Bytes that the sender was told of, and those that this attempt has passed on.
  private var credited = 0
  private var passed = 0

  init(_ head: ExchangeHead) {
    self.head = head
    body = RequestBacklog(isComplete: head.isComplete)
  }

  /// - Returns: what of the body has come so far, which is to be sent now.
  mutating func beginAttempt() -> [ByteBuffer] {
    attempts += 1
    passed = 0
    return body.takeUnsent()
  }

  mutating func append(_ bytes: ByteBuffer, isSent: Bool) {
    body.append(bytes, isSent: isSent)
  }

  mutating func finish(trailers: FieldSection?) {
    body.finish(trailers: trailers)
  }

  /// That many more bytes went on.
  /// - Returns: how many of them the sender has not been told of before.
  mutating func pass(_ bytes: Int) -> Int {
    passed += bytes
    guard passed > credited else { return 0 }
    defer { credited = passed }
    return passed - credited
  }

  /// It will not be sent again.
  mutating func responseBegan() {
    hasResponse = true
    body.drop()
  }

  /// Whether it may be sent again, if its whole body can be.
  func mayRepeat(after error: BywayError) -> Bool {
    !hasResponse && attempts > 0 && attempts < RetryRules.maximumAttempts
      && RetryRules.permit(error, request: head.fields)
  }

  /// The sender has begun its body anew.
  mutating func restartBody() {
    body.restart()
    credited = 0
  }
}
