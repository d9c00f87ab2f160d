import BywayHTTPWire
import Logging
import Testing

@testable import Byway

/// Changes to heads at a hop.
@Suite struct HopRulesTests {
  private func admitted(_ fields: FieldSection) throws -> FieldSection {
    var fields = fields
    let configuration = ServerConfiguration(hop: "hop", logger: Logger(label: "test"))
    _ = try RequestRules.admit(&fields, configuration, via: "2.0 hop")
    return fields
  }

  @Test(
    "a Host field equal to :authority is dropped",
    arguments: [("device", "device"), ("Device.:80", "device"), ("[::1]", "[0::1]:80"), ("a:8", "A.:8")])
  func agreeing(_ authority: String, _ host: String) throws {
    let fields = try admitted([":method": "GET", ":scheme": "http", ":authority": authority, "host": host])
    #expect(fields.value(of: .authority) == authority)
    #expect(!fields.contains(.host))
  }

  @Test("a Host field without :authority becomes the authority") func onlyHost() throws {
    let fields = try admitted([":method": "GET", ":scheme": "http", "host": "device:8"])
    #expect(fields.value(of: .authority) == "device:8")
    #expect(!fields.contains(.host))
    #expect(try !admitted([":method": "GET", ":path": "/"]).contains(.authority))
  }

  @Test(
    "two different hosts and an invalid host are refused",
    arguments: [
      ("device", "evil"), ("device", "device:81"), ("device", "u@device"), ("u@device", "device"), ("device", ""),
      ("b\u{FC}cher", nil), ("%64evice", nil), ("", nil), ("device:999999", nil), (nil, "u@device"),
    ] as [(String?, String?)])
  func disagreeing(_ authority: String?, _ host: String?) {
    var fields: FieldSection = [":method": "GET", ":scheme": "http"]
    if let authority { fields.append(.authority, authority) }
    if let host { fields.append(.host, host) }
    let error = #expect(throws: BywayError.self) { try admitted(fields) }
    #expect(error?.code == .invalidRequest)
    #expect(error?.message.contains("u@") == false)
  }

  @Test("a request that leaves over HTTP/2 has one host and no login for a proxy") func prepared() {
    let head: FieldSection = [
      ":method": "GET", ":authority": "device", "host": "evil", "proxy-authorization": "Basic x", "accept": "*/*",
    ]
    let asHop = UpstreamRules(serverKind: .origin, via: "2.0 hop").prepared(head)
    #expect(asHop == [":method": "GET", ":authority": "device", "accept": "*/*"])
    let asClient = UpstreamRules(serverKind: .gateway, via: nil).prepared(head)
    #expect(asClient.contains(.proxyAuthorization) && !asClient.contains(.host))
  }

  @Test("Via is one line that ends with this hop") func via() throws {
    let fields = try admitted([
      ":method": "GET", ":scheme": "http", ":authority": "device", "via": "1.1 a", "x": "y", "via": "1.0 b, 2.0 c",
    ])
    #expect(fields.lines.filter { $0.field == .via }.map(fields.value) == ["1.1 a, 1.0 b, 2.0 c, 2.0 hop"])
    var head: FieldSection = [":status": "200", "via": "1.1 origin"]
    #expect(
      UpstreamRules(serverKind: .origin, via: "1.1 hop").admit(
        &head, to: ExchangeHead(fields: [:], isComplete: true), isComplete: true) == nil)
    #expect(head == [":status": "200", "via": "1.1 origin, 1.1 hop"])
    head.remove(.via)
    #expect(
      UpstreamRules(serverKind: .origin, via: nil).admit(
        &head, to: ExchangeHead(fields: [:], isComplete: true), isComplete: false) == nil)
    #expect(!head.contains(.via))
  }

  @Test(
    "a gRPC response that consists of a head stays unchanged, because its fields are trailers",
    arguments: [
      ("application/grpc", true, false), ("Application/gRPC+proto", true, false), ("application/grpc", false, true),
      ("application/json", true, true), ("application/grp", true, true),
    ])
  func trailersOnly(_ type: String, _ isComplete: Bool, _ hasVia: Bool) {
    var head: FieldSection = [":status": "200", "content-type": type, "grpc-status": "12"]
    #expect(
      UpstreamRules(serverKind: .gateway, via: "2.0 hop").admit(
        &head, to: ExchangeHead(fields: [:], isComplete: true), isComplete: isComplete) == nil)
    #expect(head.contains(.via) == hasVia)
  }

  @Test("Proxy-Status and Proxy-Authenticate are kept only if the peer is trusted") func farEnds() {
    let head: FieldSection = [":status": "503", "proxy-status": "byway-x; error=y", "proxy-authenticate": "Basic"]
    for (serverKind, via, keeps) in [
      (ServerKind.gateway, "2.0 hop", true), (.origin, "2.0 hop", false), (.proxy, "2.0 hop", false),
      (.proxy, nil, true),
      (.origin, nil, false), (.gateway, nil, true),
    ] as [(ServerKind, String?, Bool)] {
      var head = head
      #expect(
        UpstreamRules(serverKind: serverKind, via: via).admit(
          &head, to: ExchangeHead(fields: [:], isComplete: true), isComplete: false) == nil)
      #expect(head.contains(.proxyStatus) == keeps, "\(serverKind) \(via ?? "-")")
      #expect(head.contains(.proxyAuthenticate) == (via == nil))
    }
    var login: FieldSection = [":status": "407", "proxy-authenticate": "Basic"]
    #expect(
      UpstreamRules(serverKind: .gateway, via: "2.0 hop").admit(
        &login, to: ExchangeHead(fields: [:], isComplete: true), isComplete: false)?.code
        == .protocolViolation)
    #expect(
      UpstreamRules(serverKind: .proxy, via: "1.1 hop").admit(
        &login, to: ExchangeHead(fields: [:], isComplete: true), isComplete: false) == nil)
    #expect(login.contains(.proxyAuthenticate))
  }
}
