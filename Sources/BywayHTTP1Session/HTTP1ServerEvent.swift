package import BywayHTTPWire
package import NIOCore

/// An event of a server's connection about its current exchange.
///
/// The order is: one `head`, any number of `content`, one `end`. For a request that asks for a tunnel, `content` and `end` are
/// those of the granted tunnel. `drained` and `refused` may come anywhere, even first. `closed` comes last.
package enum HTTP1ServerEvent: Sendable {
  case head(RequestHead)
  /// A slice of the received bytes, or of a tunnel's bytes; never empty.
  case content(ByteBuffer)
  /// The request is complete; in a tunnel, the client sends no more.
  case end(trailers: FieldSection?)
  /// The number of bytes of the response's content that were sent: there is room for as many more.
  case drained(bytes: Int)
  /// The received bytes are not a request, or not the rest of one. An answer with the failure's status is due if none has
  /// begun. Then the connection ends.
  case refused(HTTP1Failure)
  /// Both messages are complete, or no longer needed.
  case closed
}
