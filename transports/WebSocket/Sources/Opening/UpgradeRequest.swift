import Byway
import BywayHTTP1Session
import BywayHTTPWire
import NIOCore

/// The request of a dialing end for a WebSocket (RFC 6455 §4.1), and what its answers mean.
struct UpgradeRequest {
  /// The subprotocol of links. Both ends require it, so that neither takes another WebSocket for a link.
  static let subprotocol = "byway"

  private(set) var fields = FieldSection()
  private let handshake: WebSocketHandshake
  private let target: WebSocketTarget

  init(_ target: WebSocketTarget, token: BearerToken?) {
    self.target = target
    fields.append(.method, "CONNECT")
    fields.append(.protocol, "websocket")
    fields.append(.scheme, target.isSecure ? "https" : "http")
    fields.append(.authority, target.authority)
    fields.append(.path, target.path)
    fields.append(name: "sec-websocket-protocol", value: Self.subprotocol)
    if let token { fields.append(name: "authorization", value: token.credentials) }
    handshake = WebSocketHandshake(asking: &fields)
  }

  func terms(times: WebSocketTimes) -> TunnelRequest.Terms {
    let address = target.address
    return TunnelRequest.Terms(
      opened: { head throws(BywayError) in
        try verify(head)
        return WebSocketLink.handlers(peer: "\(address)", isClient: true, times: times)
      },
      refused: { WebSocketRefusal(status: $0.status ?? 0, $0, target).error },
      failed: { failure in
        guard let failure else { return Self.ended(address) }
        return Self.unavailable("\(address) does not answer like a web server: \(failure.message)")
      },
      late: {
        Self.unavailable("\(address) did not answer the request for a WebSocket in time: does a hub listen there?")
      })
  }

  private func verify(_ head: ResponseHead) throws(BywayError) {
    var fields = head.fields
    guard head.upgrade?.lowercased() == "websocket", handshake.verify(&fields) else {
      throw Self.unavailable("\(target.address) switched protocols, but not to this WebSocket: its proof is wrong.")
    }
    guard fields.text(of: "sec-websocket-extensions") == nil else {
      throw Self.unavailable("\(target.address) uses a WebSocket extension that was not offered.")
    }
    guard fields.text(of: "sec-websocket-protocol") == Self.subprotocol else {
      throw Self.unavailable(
        "\(target.address) is a WebSocket of another program: its subprotocol is not \(Self.subprotocol). Check the path."
      )
    }
  }

  private static func ended(_ address: LinkAddress) -> BywayError {
    unavailable("\(address) ended the connection instead of opening a WebSocket: does a hub listen there?")
  }

  private static func unavailable(_ sentence: String) -> BywayError {
    BywayError(.linkUnavailable, Diagnosis(.handshakeFailed, sentence))
  }
}

extension FieldSection {
  /// Returns the only value of a field; `nil` if there is none. Several values become one with commas (RFC 9110 §5.3).
  func text(of name: String) -> String? {
    var values: [String] = []
    forEachLine { _, found, value in
      if found.elementsEqual(name.utf8) { values.append(String(decoding: value, as: UTF8.self)) }
    }
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}
