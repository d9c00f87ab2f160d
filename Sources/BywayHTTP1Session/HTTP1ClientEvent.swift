package import BywayHTTPWire
package import NIOCore

/// An event of a client's connection about its current exchange.
///
/// The order is: any number of `informational`, one `head` or `upgraded`, any number of `data`, then `end` unless the head
/// completed the response. `drained` may come anywhere before the end. `failed` ends everything.
package enum HTTP1ClientEvent: Sendable {
  /// A 1xx response other than 101.
  case informational(FieldSection)
  case head(FieldSection, isComplete: Bool)
  /// The requested tunnel is open: status 101, 2xx to CONNECT, or 2xx without framing to an upgrade to `tcp`.
  case upgraded(ResponseHead)
  /// A slice of the received bytes; never empty.
  case data(ByteBuffer)
  case end(trailers: FieldSection?)
  /// The number of bytes of the request's content that were sent: there is room for as many more.
  case drained(bytes: Int)
  /// The connection can no longer be used, and its exchange has ended.
  case failed(HTTP1ClientFailure)
}

/// The reason why a client's connection ended during an exchange.
package enum HTTP1ClientFailure: Error, Sendable, Hashable {
  /// The received bytes are not a response to the request.
  case response(HTTP1Failure)
  /// The content to send does not match the request's head.
  case request(HTTP1Failure)
  /// The server no longer accepts the request's content.
  case stalled
  /// The server paused within content of declared length.
  case paused
  /// The server answered an upgrade with an ordinary success. For a client over HTTP/2 that does not support
  /// `byway-upgrade-status`, it would mean that the tunnel is open (RFC 8441 §5).
  case notUpgraded(status: Int)
}
