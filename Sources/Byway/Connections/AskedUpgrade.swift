import BywayHTTP1Session
import BywayHTTPWire

/// The upgrade that an HTTP/1.1 server is asked for, on behalf of an extended CONNECT (RFC 8441).
enum AskedUpgrade {
  case webSocket(WebSocketHandshake)
  case other(String)

  /// Makes an extended CONNECT a request that an HTTP/1.1 server understands, as far as its fields go.
  /// - Returns: `nil` where the request has no `:protocol`.
  init?(_ fields: inout FieldSection) {
    guard let name = fields.value(of: .protocol) else { return nil }
    self = name.lowercased() == "websocket" ? .webSocket(WebSocketHandshake(asking: &fields)) : .other(name)
  }

  /// Whether the server has agreed to this upgrade. Makes its response one that opens a tunnel over HTTP/2.
  func verify(_ head: ResponseHead, _ fields: inout FieldSection) -> Bool {
    switch self {
    case .webSocket(let handshake):
      guard head.upgrade?.lowercased() == "websocket", handshake.verify(&fields) else { return false }
    case .other(let name):
      // Servers of containers may agree without a word: the session checks that.
      guard head.status != 101 || head.upgrade?.lowercased() == name.lowercased() else { return false }
    }
    fields.set(.status, "200")
    return true
  }

  /// Marks a success that opens no tunnel. The session lets one pass only if the other end knows the mark.
  func markRefusal(_ response: inout FieldSection) {
    guard let status = response.status, status / 100 == 2 else { return }
    response.set(.upgradeStatus, String(status))
  }
}
