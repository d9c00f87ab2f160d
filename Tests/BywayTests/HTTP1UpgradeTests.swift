import BywayHTTPWire
import NIOCore
import TestWire
import Testing

@testable import Byway

/// Upgrades to protocols other than WebSocket: from HTTP/1.1 to extended CONNECT, and back to HTTP/1.1.
@Suite(.timeLimit(.minutes(1))) struct HTTP1UpgradeTests {
  // MARK: Clients

  private static func request(_ fields: String, _ rest: String = "") -> String {
    "POST /attach?x=1 HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\n\(fields)\r\n\r\n\(rest)"
  }

  @Test("an upgrade request becomes an extended CONNECT with its method and length, and is answered with 101")
  func asked() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(
      Self.request("Upgrade: SPDY/3.1\r\nContent-Length: 4\r\nContent-Type: text/plain", "bodyearly"))
    let exchange = try await server.handler.exchange()
    #expect(!exchange.isComplete)
    #expect(
      Set(exchange.head.text(without: .via)) == [
        ":method: CONNECT", ":protocol: SPDY/3.1", ":scheme: http", ":path: /attach?x=1", ":authority: here",
        "byway-upgrade-method: POST", "byway-upgrade-length: 4", "content-type: text/plain",
      ])
    try await exchange.requestBody(until: "body")
    try await exchange.begin([":status": "200", "content-type": "application/vnd.docker.raw-stream"])
    #expect(
      try await server.client.receive(through: "\r\n\r\n")
        == "HTTP/1.1 101 Switching Protocols\r\ncontent-type: application/vnd.docker.raw-stream\r\n"
        + "Upgrade: SPDY/3.1\r\nConnection: upgrade\r\n\r\n")
    try await exchange.requestBody(until: "bodyearly")
    try await server.client.endOutput()
    #expect(try await exchange.requestBody().body == "bodyearly")
    try await exchange.send("answer")
    try await exchange.end()
    #expect(try await server.client.receiveToEnd() == "answer")
  }

  @Test("a response other than 101 is an ordinary one for the client, without the internal mark")
  func declined() async throws {
    for (head, status) in [
      ([":status": "200", "byway-upgrade-status": "200", "content-length": "2"], "200 OK"),
      ([":status": "404", "content-length": "2"], "404 Not Found"),
    ] as [(FieldSection, String)] {
      let server = try await HTTP1ServerFixture()
      try await server.client.send(Self.request("Upgrade: tcp\r\nContent-Length: 0"))
      let exchange = try await server.handler.exchange()
      #expect(!exchange.head.contains(.upgradeLength) && !exchange.head.contains(.contentLength))
      try await exchange.answer(head, "no")
      #expect(
        try await server.client.receiveToEnd()
          == "HTTP/1.1 \(status)\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
    }
  }

  private static let exec = "POST /exec/\(String(repeating: "0a", count: 32))/start HTTP/1.1\r\nHost: here\r\n"

  @Test("a client that attaches to a command without Upgrade gets a tunnel, and the answer that it expects")
  func attached() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(Self.exec + "Content-Length: 2\r\n\r\n{}")
    let exchange = try await server.handler.exchange()
    #expect(
      Set(exchange.head.text(without: .via, .path)) == [
        ":method: CONNECT", ":protocol: tcp", ":scheme: http", ":authority: here", "byway-upgrade-method: POST",
        "byway-upgrade-length: 2",
      ])
    try await exchange.requestBody(until: "{}")
    try await exchange.begin([":status": "200", "content-type": "application/vnd.docker.raw-stream"])
    #expect(
      try await server.client.receive(through: "\r\n\r\n")
        == "HTTP/1.1 200 OK\r\ncontent-type: application/vnd.docker.raw-stream\r\n\r\n")
    try await server.client.send("in")
    try await exchange.requestBody(until: "{}in")
    try await server.client.endOutput()
    #expect(try await exchange.requestBody().body == "{}in")
    try await exchange.send("out")
    try await exchange.end()
    #expect(try await server.client.receiveToEnd() == "out")
  }

  @Test(
    "a client that attaches gets an ordinary answer where no tunnel opens",
    arguments: [
      ([":status": "200", "byway-upgrade-status": "200", "content-length": "2"], "200 OK"),
      ([":status": "409", "content-length": "2"], "409 Conflict"),
    ] as [(FieldSection, String)])
  func attachDeclined(_ head: FieldSection, _ status: String) async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(Self.exec + "Content-Length: 2\r\n\r\n{}")
    try await server.handler.exchange().answer(head, "no")
    #expect(
      try await server.client.receive(through: "\r\n\r\nno")
        == "HTTP/1.1 \(status)\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
  }

  @Test(
    "the first allowed protocol of an Upgrade field is requested",
    arguments: [
      ("Upgrade: foo, TCP", "TCP"), ("Upgrade: foo\r\nUpgrade: spdy/3.1, tcp", "spdy/3.1"),
      ("Upgrade: h2c, websocket, tcp", "tcp"),
    ])
  func choice(_ fields: String, _ name: String) async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(Self.request(fields))
    #expect(try await server.handler.exchange().head.value(of: .protocol) == name)
  }

  @Test(
    "an upgrade to any other protocol is refused at once with an explanation",
    arguments: ["foo", "tcp/1", "SPDY/3", "a b"])
  func forbidden(_ name: String) async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(Self.request("Upgrade: \(name)"))
    let answer = try await server.client.receive(through: "}\n")
    #expect(answer.hasPrefix("HTTP/1.1 501 Not Implemented\r\n"))
    #expect(answer.contains("allowedUpgrades"))
    #expect(try await server.handler.count == 0)
  }

  @Test("a further protocol can be allowed, in any case of letters")
  func allowed() async throws {
    let server = try await HTTP1ServerFixture(upgrades: [UpgradeProtocol("Foo/2")])
    try await server.client.send(Self.request("Upgrade: fOO/2"))
    #expect(try await server.handler.exchange().head.value(of: .protocol) == "fOO/2")
  }

  @Test("h2c in Upgrade is ignored unless allowed, as BuildKit requires", arguments: [false, true])
  func h2c(_ isAllowed: Bool) async throws {
    let server = try await HTTP1ServerFixture(upgrades: isAllowed ? [UpgradeProtocol("h2c")] : [])
    try await server.client.send(Self.request("Upgrade: h2c\r\nContent-Length: 0"))
    let head = try await server.handler.exchange().head
    #expect(head.value(of: .method) == (isAllowed ? "CONNECT" : "POST"))
    #expect(head.value(of: .protocol) == (isAllowed ? "h2c" : nil))
  }

  @Test(
    "an invalid protocol name cannot be allowed", arguments: ["", "a b", "a/b/c", "HTTP/2.0", "TLS/1.2"])
  func badName(_ name: String) {
    #expect(throws: BywayError.self) { try UpgradeProtocol(name) }
  }

  @Test("an untrusted client cannot set the internal fields of an upgrade")
  func hostileFields() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(
      Self.request("Upgrade: tcp\r\nByway-Upgrade-Method: DELETE\r\nbyway-upgrade-length: 99", "GET"))
    let head = try await server.handler.exchange().head
    #expect(head.text().filter { $0.hasPrefix("byway-") } == ["byway-upgrade-method: POST"])
  }

  // MARK: Both ends of a link

  @Test(
    "an extended CONNECT may request an allowed protocol",
    arguments: [("tcp", true), ("SPDY/3.1", true), ("WebSocket", true), ("foo", false), ("connect-udp", false)])
  func judged(_ name: String, _ isAllowed: Bool) {
    var fields: FieldSection = [":method": "CONNECT", ":protocol": "\(name)", ":authority": "h", ":path": "/"]
    var refusal: BywayError?
    do throws(BywayError) {
      _ = try RequestRules.admit(&fields, .test, via: "2.0 here")
    } catch {
      refusal = error
    }
    #expect(refusal?.code == (isAllowed ? nil : .unsupported))
  }

  @Test("only a trusted hop may describe the original request of an upgrade", arguments: [true, false])
  func trust(_ isTrusted: Bool) throws {
    var configuration = ServerConfiguration.test
    configuration.trustsTargetForm = isTrusted
    var fields: FieldSection = [
      ":method": "CONNECT", ":protocol": "tcp", ":authority": "h", ":path": "/", "byway-upgrade-method": "POST",
      "byway-upgrade-length": "5",
    ]
    _ = try RequestRules.admit(&fields, configuration, via: "2.0 here")
    #expect(fields.contains(.upgradeMethod) == isTrusted)
    #expect(fields.contains(.upgradeLength) == isTrusted)
  }

  // MARK: HTTP/1.1 origins

  private static let post: FieldSection = [
    ":method": "CONNECT", ":protocol": "tcp", ":scheme": "http", ":authority": "device", ":path": "/attach",
    "byway-upgrade-method": "POST", "byway-upgrade-length": "4",
  ]

  /// Sends a request for an upgrade with its body, and returns the response and the origin's end.
  private func upgrade(
    hop: String? = "hop"
  ) async throws -> (client: HTTP1ClientFixture, response: CollectedResponse, origin: WireEnd) {
    let client = try await HTTP1ClientFixture(hop: hop)
    let response = try await client.begin(Self.post, isComplete: false)
    try await response.send("body")
    let origin = try await client.origin()
    _ = try await origin.receive(through: "body")
    return (client, response, origin)
  }

  @Test("the origin gets the client's original request, and its 101 opens the tunnel")
  func origin() async throws {
    let client = try await HTTP1ClientFixture(hop: nil)
    let response = try await client.begin(Self.post, isComplete: false)
    try await response.send("bodyearly")
    let origin = try await client.origin()
    #expect(
      try await origin.receive(through: "body")
        == "POST /attach HTTP/1.1\r\nHost: device\r\nUpgrade: tcp\r\nConnection: upgrade\r\nContent-Length: 4\r\n\r\nbody"
    )
    try await response.credited(4)
    #expect(try await origin.peek() == "")
    try await origin.send("HTTP/1.1 101 UPGRADED\r\nX: y\r\nConnection: Upgrade\r\nUpgrade: TCP\r\n\r\nwelcome")
    #expect(try await response.responseHead().text() == ["x: y", ":status: 200"])
    _ = try await origin.receive(through: "early")
    try await response.body(until: "welcome")
    try await response.end()
    #expect(try await origin.receiveToEnd() == "")
    try await origin.send("last")
    origin.close()
    #expect(try await response.response().body == "welcomelast")
  }

  @Test("an origin of containers opens the tunnel with an ordinary success, and each direction ends separately")
  func attachedOrigin() async throws {
    let client = try await HTTP1ClientFixture(hop: nil)
    let response = try await client.begin(Self.post, isComplete: false)
    try await response.send("bodyearly")
    let origin = try await client.origin()
    _ = try await origin.receive(through: "body")
    try await origin.send("HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\nwelcome")
    #expect(
      try await response.responseHead().text() == ["content-type: application/vnd.docker.raw-stream", ":status: 200"])
    _ = try await origin.receive(through: "early")
    try await response.end()
    #expect(try await origin.receiveToEnd() == "")
    try await origin.send("last")
    origin.close()
    #expect(try await response.response().body == "welcomelast")
  }

  @Test("an origin of containers that closes at once ends the tunnel")
  func attachedShortly() async throws {
    let client = try await HTTP1ClientFixture(hop: nil)
    let response = try await client.begin(Self.post, isComplete: false)
    try await response.send("body")
    let origin = try await client.origin()
    _ = try await origin.receive(through: "body")
    try await origin.send("HTTP/1.1 200 OK\r\n\r\n")
    origin.close()
    let answer = try await response.response()
    #expect(answer.head.text() == [":status: 200"] && answer.body == "")
  }

  @Test("a success other than 101 is marked, so that no hop treats it as an open tunnel")
  func marked() async throws {
    let (client, response, origin) = try await upgrade(hop: nil)
    try await origin.send("HTTP/1.1 200 OK\r\nbyway-upgrade-status: 101\r\nContent-Length: 2\r\n\r\nno")
    let answer = try await response.response()
    #expect(answer.head.text() == [":status: 200", "content-length: 2", "byway-upgrade-status: 200"])
    #expect(answer.body == "no")
    // Other responses on the same connection are not marked.
    let next = try await client.begin()
    _ = try await origin.receive(through: "\r\n\r\n")
    try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    #expect(try await next.response().head.text() == [":status: 200", "content-length: 0"])
  }

  @Test("a refused upgrade has no mark")
  func refused() async throws {
    let upgrade = try await self.upgrade(hop: nil)
    try await upgrade.origin.send("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n")
    #expect(try await upgrade.response.response().head.text() == [":status: 426", "content-length: 0"])
  }

  @Test(
    "an origin that switches to another protocol than requested, or to none, fails the request",
    arguments: ["foo", nil])
  func wrongProtocol(_ name: String?) async throws {
    let upgrade = try await self.upgrade()
    let field = name.map { "Upgrade: \($0)\r\nConnection: Upgrade\r\n" } ?? ""
    try await upgrade.origin.send("HTTP/1.1 101 Switching Protocols\r\n\(field)\r\n")
    let error = await #expect(throws: BywayError.self) { try await upgrade.response.response() }
    #expect(error?.code == .protocolViolation)
  }

  // MARK: HTTP/2 origins

  @Test("at an HTTP/2 origin only a GET without content can be upgraded, if the origin supports extended CONNECT")
  func http2Origin() {
    let origin = UpstreamRules(serverKind: .origin, via: "2.0 here")
    var get = Self.post
    get.set(.upgradeMethod, "GET")
    #expect(origin.judgeUpgrade(get, isKnown: true)?.code == .unsupported)
    get.remove(.upgradeLength)
    #expect(origin.judgeUpgrade(get, isKnown: true) == nil)
    #expect(origin.judgeUpgrade(get, isKnown: false)?.code == .unsupported)
    #expect(!origin.prepared(get).contains(.upgradeMethod))
    var post = Self.post
    post.remove(.upgradeLength)
    #expect(origin.judgeUpgrade(post, isKnown: true)?.code == .unsupported)
    #expect(origin.judgeUpgrade(.post, isKnown: false) == nil)
  }

  @Test("a gateway receives the internal fields of an upgrade")
  func gateway() {
    let gateway = UpstreamRules(serverKind: .gateway, via: "2.0 here")
    #expect(gateway.judgeUpgrade(Self.post, isKnown: true) == nil)
    #expect(gateway.prepared(Self.post).contains(.upgradeMethod))
    #expect(gateway.prepared(Self.post).contains(.upgradeLength))
  }

  @Test("the internal mark is removed from any other response")
  func strayMark() {
    let origin = UpstreamRules(serverKind: .origin, via: nil)
    var head: FieldSection = [":status": "200", "byway-upgrade-status": "200"]
    #expect(origin.admit(&head, to: ExchangeHead(fields: .get, isComplete: true), isComplete: false) == nil)
    #expect(!head.contains(.upgradeStatus))
  }
}
