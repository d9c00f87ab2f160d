import BywayHTTPWire
import NIOCore

/// The rest of a request after its head, which may be sent on several connections in turn. Keeps the body, and counts how many of its bytes
/// were reported to the sender as consumed.
///
/// A value type that never calls its owner's sink, which may call back with more of the request.
struct ReplayableRequest {
  private(set) var body: RequestBacklog
  /// Bytes reported to the sender, and bytes that this attempt has passed on.
  private var credited = 0
  private var passed = 0

  /// - Parameter isComplete: whether the request ends with its head.
  init(isComplete: Bool) {
    body = RequestBacklog(isComplete: isComplete)
  }

  /// - Returns: the part of the request that has arrived so far, to be sent now.
  mutating func beginAttempt() -> (chunks: [ByteBuffer], trailers: FieldSection?) {
    passed = 0
    return body.takeUnsent()
  }

  mutating func append(_ bytes: ByteBuffer, isSent: Bool) {
    body.append(bytes, isSent: isSent)
  }

  mutating func finish(trailers: FieldSection?) {
    body.finish(trailers: trailers)
  }

  /// Counts bytes that were passed on.
  /// - Returns: how many of them have not been reported to the sender before.
  mutating func pass(_ bytes: Int) -> Int {
    passed += bytes
    guard passed > credited else { return 0 }
    defer { credited = passed }
    return passed - credited
  }

  /// The request will not be sent again.
  mutating func responseBegan() {
    body.drop()
  }

  /// The sender starts its body over.
  mutating func restartBody() {
    body.restart()
    credited = 0
  }
}
