import BywayHTTP1Session
import BywayHTTPWire

/// The upgrade that an HTTP/1.1 client asks for. Everywhere else it is an extended CONNECT (RFC 8441).
enum ServedUpgrade {
  case webSocket(WebSocketHandshake)
  /// A protocol in its client's spelling.
  case other(String)
  /// The stream of a client of containers, which names no protocol. The answer does not name one either.
  case attach

  /// Turns an upgrade request into an extended CONNECT. Its method and the length of its content are kept in Byway's own fields, which end
  /// at the hop that speaks HTTP/1.1 again.
  /// - Returns: `nil` if the request asks for no upgrade.
  init?(_ head: RequestHead, _ fields: inout FieldSection, by rules: UpgradeRules) throws(BywayError) {
    switch head.kind {
    case .ordinary, .head, .connect:
      return nil
    case .webSocket:
      guard let handshake = WebSocketHandshake(answering: &fields) else {
        throw BywayError(.invalidRequest, "Sec-WebSocket-Key is not a key (RFC 6455 §4.1).", processing: .none)
      }
      self = .webSocket(handshake)
    case .upgrade:
      let offer = head.upgrade ?? ""
      guard let name = rules.choice(from: offer) else { throw UpgradeRules.refusal(of: offer) }
      self = .other(name)
      Self.extend(&fields, head, name)
    case .attach:
      self = .attach
      Self.extend(&fields, head, "tcp")
    }
  }

  private static func extend(_ fields: inout FieldSection, _ head: RequestHead, _ name: String) {
    fields.append(.upgradeMethod, fields.value(of: .method) ?? "GET")
    if case .length(let length) = head.framing, length > 0 { fields.append(.upgradeLength, String(length)) }
    fields.set(.method, "CONNECT")
    fields.append(.protocol, name)
  }

  /// The protocol's name in the answer.
  var name: String? {
    switch self {
    case .webSocket: "websocket"
    case .other(let name): name
    case .attach: nil
    }
  }

  /// Whether a response opens the tunnel. A success that does not is marked.
  static func isOpened(by response: FieldSection) -> Bool {
    response.status.map { $0 / 100 == 2 } == true && !response.contains(.upgradeStatus)
  }

  /// Turns the response that opens the tunnel into one of HTTP/1.1.
  func confirm(_ response: inout FieldSection) {
    switch self {
    case .webSocket(let handshake): handshake.confirm(&response)
    case .other: response.set(.status, "101")
    case .attach: break
    }
  }
}
