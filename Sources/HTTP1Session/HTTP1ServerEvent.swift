package import HTTPWire
package import NIOCore

/// What a server's connection has to tell of the exchange that is on it.
///
/// One `head`, any number of `content`, one `end`: of a request that asks for a tunnel, they are what goes through it once it was
/// granted. `drained` may stand anywhere, and `refused` anywhere, even first; `closed` comes last.
package enum HTTP1ServerEvent: Sendable {
  case head(RequestHead)
  /// Never empty; a slice of what was received. In a tunnel: its bytes.
  case content(ByteBuffer)
  /// The request is whole; in a tunnel: the client sends no more.
  case end(trailers: FieldSection?)
  /// That many bytes of the response's content left for the wire: there is room for as many more.
  case drained(bytes: Int)
  /// What came is not a request, or not the rest of one. An answer is due with the failure's status, where none has begun.
  /// After that the connection ends.
  case refused(HTTP1Failure)
  /// Both messages are through, or need not be.
  case closed
}
