package import BywayHTTPWire
package import NIOCore

/// The head of a request as a server reads it: the fields, and the information from removed ones.
package struct RequestHead: Sendable {
  /// `:method`; `:authority` from the target, or else from Host, whose line is removed; `:path` except for CONNECT; `:scheme`
  /// in absolute form only: otherwise the connection determines it. No connection-specific fields.
  package var fields: FieldSection
  package var kind: RequestKind
  package var targetForm: TargetForm
  package var version: HTTP1Version
  /// None, a length or chunked.
  package var framing: BodyFraming
  /// Whether the client allows another request after this one.
  package var keepAlive: Bool
  /// Whether the client waits for status 100 before it sends the body. The `expect` line stays in the fields.
  package var expectsContinue: Bool
  /// The protocols that `Upgrade` offers, if `Connection` lists it.
  package var upgrade: String?
  /// Whether the request has `TE: trailers`.
  package var acceptsTrailers: Bool
}

package enum RequestEvent: Sendable {
  case head(RequestHead)
  /// A slice of the received bytes, or of a tunnel's bytes; never empty.
  case body(ByteBuffer)
  /// The request is complete; in a tunnel, the client sends no more.
  case end(trailers: FieldSection?)
}
