import Byway
import BywayHTTP1Session
import BywayHTTPWire

/// The decision of a listener about one request.
enum UpgradeAnswer {
  case accept(FieldSection)
  /// The fields to add to the response, and its text.
  case refuse(status: Int, fields: [(String, String)], text: String)

  init(to head: RequestHead, path: String, token: BearerToken?) {
    var fields = head.fields
    let asked = fields.value(of: .path)?.prefix { $0 != "?" }
    guard let asked, asked == path else {
      self = .refuse(status: 404, fields: [], text: "There is no link at this path.")
      return
    }
    if let token, !token.isIn(fields) {
      self = .refuse(status: 401, fields: [("www-authenticate", "Bearer")], text: "This link needs a valid token.")
      return
    }
    // Browsers always send it, and let any page open a WebSocket to any host.
    guard !fields.contains(.origin) else {
      self = .refuse(status: 403, fields: [], text: "Web pages cannot open this link.")
      return
    }
    guard head.kind == .webSocket, fields.value(of: .secWebSocketVersion) == "13",
      Self.offersLink(fields), let handshake = WebSocketHandshake(answering: &fields)
    else {
      self = .refuse(
        status: 400, fields: [("sec-websocket-version", "13")],
        text: "This is a WebSocket of version 13 with the subprotocol \(UpgradeRequest.subprotocol). "
          + "A web server in front of it must pass on Upgrade and Connection.")
      return
    }
    var response = FieldSection()
    handshake.confirm(&response)
    response.append(name: "sec-websocket-protocol", value: UpgradeRequest.subprotocol)
    self = .accept(response)
  }

  /// The reason of a refusal, for the log; `nil` if the request is accepted.
  var refusal: String? {
    guard case .refuse(let status, _, let text) = self else { return nil }
    return "A client was refused with status \(status): \(text)"
  }

  private static func offersLink(_ fields: FieldSection) -> Bool {
    fields.text(of: "sec-websocket-protocol")?.split(separator: ",").contains { offer in
      offer.drop { $0 == " " }.prefix { $0 != " " } == UpgradeRequest.subprotocol
    } ?? false
  }
}
