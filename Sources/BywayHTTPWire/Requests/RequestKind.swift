package import HTTPTypes

/// The kind of a request, which determines how the response is framed (RFC 9112 §6.3) and whether the exchange becomes a tunnel.
package enum RequestKind: Sendable, Hashable {
  case ordinary
  /// HEAD: the response has no body, even if its fields declare one.
  case head
  /// CONNECT to the host and port of its authority: a 2xx response turns the exchange into a tunnel.
  case connect
  /// An extended CONNECT for a WebSocket (RFC 8441), or the handshake over HTTP/1.1 (RFC 6455 §4): GET without content, and 101
  /// turns the connection into a tunnel.
  case webSocket
  /// An upgrade to any other protocol (RFC 9110 §7.8): 101 turns the connection into a tunnel once the request is complete. Between
  /// hops it is an extended CONNECT as well.
  case upgrade
  /// A request to attach to a command in a container, by a client that sends no `Upgrade` (``FieldGrammar/isExecStart(_:)``). An
  /// ordinary success without a length turns the connection into a tunnel. Only a server reads this kind; towards other hops it is an
  /// upgrade to `tcp`.
  case attach

  package var asksForUpgrade: Bool { self == .webSocket || self == .upgrade }
  package var asksForTunnel: Bool { self == .connect || self == .attach || asksForUpgrade }

  /// Derives the kind from a request's head. CONNECT with `:protocol` (RFC 8441) asks for an upgrade.
  package init(_ fields: borrowing FieldSection) {
    self =
      fields.withValue(of: .method) { method in
        if method.equals("HEAD") { return .head }
        guard method.equals("CONNECT") else { return .ordinary }
        let isWebSocket = fields.withValue(of: .protocol) { FieldGrammar.equal($0, lowercased: "websocket") }
        return isWebSocket.map { $0 ? .webSocket : .upgrade } ?? .connect
      } ?? .ordinary
  }
}

extension HTTPRequest {
  /// The kind of this request. Interceptors see an upgrade over HTTP/1.1 as an extended CONNECT as well: no request in Byway has the field
  /// `Upgrade`.
  package var kind: RequestKind {
    if method == .head { return .head }
    guard method == .connect else { return .ordinary }
    guard var name = extendedConnectProtocol else { return .connect }
    let isWebSocket = name.withUTF8 { FieldGrammar.equal(UnsafeRawBufferPointer($0), lowercased: "websocket") }
    return isWebSocket ? .webSocket : .upgrade
  }
}
