package import BywayHTTPWire
package import NIOCore

/// The head of a response as a client reads it: the fields, and the information from removed ones.
package struct ResponseHead: Sendable {
  /// `:status` first; no connection-specific fields.
  package var fields: FieldSection
  package var status: Int
  package var version: HTTP1Version
  package var framing: BodyFraming
  /// Whether the server keeps the connection open after this message.
  package var keepAlive: Bool
  /// The value of `Upgrade`, if `Connection` lists it.
  package var upgrade: String?
}

package enum ResponseEvent: Sendable {
  /// A 1xx response except 101. Their number is limited.
  case informational(FieldSection)
  case head(ResponseHead)
  /// A slice of the received bytes, or of the tunnel's bytes after `upgraded`; never empty.
  case body(ByteBuffer)
  /// The response is complete; after `upgraded`, the peer sends no more.
  case end(trailers: FieldSection?)
  /// The head of a 101 response, of 2xx to CONNECT, or of 2xx without framing to an upgrade to `tcp`. It comes instead of `head`.
  case upgraded(ResponseHead)
}
