package import HTTPWire
package import NIOCore

/// The head of a response as a client reads it: the fields, and what the stripped ones said.
package struct ResponseHead: Sendable {
  /// `:status` first; no connection-specific fields.
  package var fields: FieldSection
  package var status: Int
  package var version: HTTP1Version
  package var framing: BodyFraming
  /// The server keeps the connection open after this message.
  package var keepAlive: Bool
  /// The value of `Upgrade`, where `Connection` lists it.
  package var upgrade: String?
}

package enum ResponseEvent: Sendable {
  /// 1xx except 101, any number of them up to the limit.
  case informational(FieldSection)
  case head(ResponseHead)
  /// Never empty; a slice of what was received. After `upgraded`: the tunnel's bytes.
  case body(ByteBuffer)
  /// The response is complete; after `upgraded`: the peer sends no more.
  case end(trailers: FieldSection?)
  /// In place of `head`: 101, or 2xx to CONNECT.
  case upgraded(ResponseHead)
}
