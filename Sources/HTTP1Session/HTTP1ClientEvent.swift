package import HTTPWire
package import NIOCore

/// What a client's connection has to tell of the exchange that is on it.
///
/// Any number of `informational`, one `head` or `upgraded`, any number of `data`, then `end` unless the head said that nothing
/// follows. `drained` may stand anywhere before the end; `failed` ends everything.
package enum HTTP1ClientEvent: Sendable {
  /// 1xx other than 101.
  case informational(FieldSection)
  case head(FieldSection, isComplete: Bool)
  /// The tunnel that was asked for is open: 101, or 2xx to CONNECT.
  case upgraded(ResponseHead)
  /// Never empty; a slice of what was received.
  case data(ByteBuffer)
  case end(trailers: FieldSection?)
  /// That many bytes of the request's content left for the wire: there is room for as many more.
  case drained(bytes: Int)
  /// The connection is of no use any more, and its exchange is over.
  case failed(HTTP1ClientFailure)
}

/// Why a client's connection ended in the middle of an exchange.
package enum HTTP1ClientFailure: Error, Sendable, Hashable {
  /// What came is not the response to the request.
  case response(HTTP1Failure)
  /// What was to be sent is not what the request's head declared.
  case request(HTTP1Failure)
  /// The server takes nothing more of the request's content.
  case stalled
  /// The server paused in the middle of content whose length it had declared.
  case paused
  /// The server answers an upgrade with an ordinary success. To a client over HTTP/2 that knows no `byway-upgrade-status` it would
  /// mean that the tunnel is open (RFC 8441 §5).
  case notUpgraded(status: Int)
}
