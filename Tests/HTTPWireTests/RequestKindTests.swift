import BywayHTTPWire
import HTTPTypes
import Testing

@Suite("The kind of a request") struct RequestKindTests {
  @Test(
    "a head of the API and the fields that are sent for it have the same kind",
    arguments: [
      (.get, nil, .ordinary), (.post, nil, .ordinary), (.head, nil, .head), (.connect, nil, .connect),
      (.connect, "websocket", .webSocket), (.connect, "WebSocket", .webSocket), (.connect, "tcp", .upgrade),
      (.connect, "websoc\u{212A}et", .upgrade), (.get, "websocket", .ordinary),
    ] as [(HTTPRequest.Method, String?, RequestKind)])
  func kinds(_ method: HTTPRequest.Method, _ name: String?, _ kind: RequestKind) {
    var head = HTTPRequest(method: method, scheme: "http", authority: "a", path: "/")
    head.extendedConnectProtocol = name
    #expect(head.kind == kind)
    #expect(RequestKind(FieldSection(head)) == kind)
  }

  @Test("CONNECT and all upgrades ask for a tunnel, and only upgrades ask for an upgrade")
  func tunnels() {
    let tunnels: [RequestKind] = [.connect, .webSocket, .upgrade, .attach]
    #expect(tunnels.filter(\.asksForTunnel) == tunnels)
    #expect(tunnels.filter(\.asksForUpgrade) == [.webSocket, .upgrade])
    #expect(!RequestKind.ordinary.asksForTunnel && !RequestKind.head.asksForTunnel)
  }

  @Test("the field Upgrade alone does not ask for a tunnel, because no hop forwards it")
  func field() {
    let head = HTTPRequest(
      method: .get, scheme: "http", authority: "a", path: "/", headerFields: [.upgrade: "websocket"])
    #expect(head.kind == .ordinary)
  }
}
