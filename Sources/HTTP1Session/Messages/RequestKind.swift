package import HTTPWire

/// The kind of a request, which determines how the response is framed (RFC 9112 §6.3).
package enum RequestKind: Sendable, Hashable {
  case ordinary
  /// HEAD: the response has no body, even if its fields declare one.
  case head
  /// CONNECT: a 2xx answer turns the connection into a tunnel.
  case connect
  /// A WebSocket handshake (RFC 6455 §4): GET without content, and 101 turns the connection into a tunnel.
  case webSocket
  /// An upgrade to any other protocol (RFC 9110 §7.8): 101 turns the connection into a tunnel once the request is complete.
  case upgrade
  /// A request to attach to a command in a container, by a client that sends no `Upgrade` (``FieldGrammar/isExecStart(_:)``). An
  /// ordinary success without a length turns the connection into a tunnel. Only a server reads this kind; towards other hops it is an
  /// upgrade to `tcp`.
  case attach

  package var asksForUpgrade: Bool { self == .webSocket || self == .upgrade }
  package var asksForTunnel: Bool { self == .connect || self == .attach || asksForUpgrade }

  /// Derives the kind from a request's head. CONNECT with `:protocol` (RFC 8441) is written as an upgrade.
  package init(_ fields: FieldSection) {
    self =
      fields.withValue(of: .method) { method in
        if method.equals("HEAD") { return .head }
        guard method.equals("CONNECT") else { return .ordinary }
        let isWebSocket = fields.withValue(of: .protocol) { FieldGrammar.equal($0, lowercased: "websocket") }
        return isWebSocket.map { $0 ? .webSocket : .upgrade } ?? .connect
      } ?? .ordinary
  }
}
