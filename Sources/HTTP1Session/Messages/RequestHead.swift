package import HTTPWire
package import NIOCore

/// The head of a request as a server reads it: the fields, and what the stripped ones said.
package struct RequestHead: Sendable {
  /// `:method`; `:authority` from the target or else from Host, whose line is gone; `:path` except for CONNECT;
  /// `:scheme` in absolute form only: in the others the connection knows it. No connection-specific fields.
  package var fields: FieldSection
  package var kind: RequestKind
  package var targetForm: TargetForm
  package var version: HTTP1Version
  /// None, a length or chunked.
  package var framing: BodyFraming
  /// The client allows another request after this one.
  package var keepAlive: Bool
  /// The client waits for 100 before it sends the body. The `expect` line stays in the fields.
  package var expectsContinue: Bool
  /// The protocols that `Upgrade` offers, where `Connection` lists it.
  package var upgrade: String?
  /// `TE: trailers`
  package var acceptsTrailers: Bool
}

/// The four forms of a request target (RFC 9112 §3.2).
package enum TargetForm: Sendable, Hashable {
  /// `/path?query`
  case origin
  /// `http://host/path`, to a proxy.
  case absolute
  /// `host:port`, with CONNECT.
  case authority
  /// `*`, with OPTIONS.
  case asterisk
}

package enum RequestEvent: Sendable {
  case head(RequestHead)
  /// Never empty; a slice of what was received. In a tunnel: its bytes.
  case body(ByteBuffer)
  /// The request is complete; in a tunnel: the client sends no more.
  case end(trailers: FieldSection?)
}
