package import HTTPWire

/// The class of a request that decides how the answer is framed (RFC 9112 §6.3).
package enum RequestKind: Sendable, Hashable {
  case ordinary
  /// HEAD: the response has no body, whatever its fields say.
  case head
  /// CONNECT: a 2xx answer turns the connection into a tunnel.
  case connect
  /// A WebSocket handshake: 101 turns the connection into a tunnel.
  case upgrade

  /// From a request's head. CONNECT with `:protocol` (RFC 8441) is written as an upgrade.
  package init(_ fields: FieldSection) {
    self =
      fields.withValue(of: .method) { method in
        if method.equals("HEAD") { return .head }
        guard method.equals("CONNECT") else { return .ordinary }
        return fields.contains(.protocol) ? .upgrade : .connect
      } ?? .ordinary
  }
}
