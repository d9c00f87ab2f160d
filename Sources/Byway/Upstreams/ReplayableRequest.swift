import HTTPWire
import NIOCore

/// What follows a request's head, on its way through as many connections as it takes: what has come of it, and of how many of
/// its bytes the sender was told that they went on.
///
/// A value that never calls its owner's sink: that may come back with more of the request.
struct ReplayableRequest {
  private(set) var body: RequestBacklog
  /// Bytes that the sender was told of, and those that this attempt has passed on.
  private var credited = 0
  private var passed = 0

  /// - Parameter isComplete: the request ends with its head.
  init(isComplete: Bool) {
    body = RequestBacklog(isComplete: isComplete)
  }

  /// - Returns: what of the body has come so far, which is to be sent now.
  mutating func beginAttempt() -> [ByteBuffer] {
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
    body.drop()
  }

  /// The sender has started its body over.
  mutating func restartBody() {
    body.restart()
    credited = 0
  }
}
