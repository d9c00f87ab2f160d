import HTTP1Session
import HTTPWire
import NIOCore
import Testing

/// Upgrades to protocols other than WebSocket, at both ends of a connection.
@Suite struct UpgradeSessionTests {
  private static let switched = "HTTP/1.1 101 UPGRADED\r\nUpgrade: tcp\r\nConnection: Upgrade\r\n\r\n"

  private func asking(_ fields: [(String, String)] = [], isComplete: Bool = false) throws -> ClientEnd {
    let client = ClientEnd()
    try client.begin(
      "CONNECT", [(":protocol", "tcp"), (":path", "/"), ("byway-upgrade-method", "POST")] + fields,
      isComplete: isComplete)
    return client
  }

  private static let head =
    "POST / HTTP/1.1\r\nHost: here:1\r\nUpgrade: tcp\r\nConnection: upgrade\r\nContent-Length: "

  // MARK: Client session

  @Test("sends exactly the content first, and further bytes after the server's 101")
  func content() throws {
    let client = try asking([("byway-upgrade-length", "7")])
    client.write("con")
    #expect(client.sent() == Self.head + "7\r\n\r\ncon")
    client.write("tentearly")
    client.write(" words")
    #expect(client.sent() == "tent")
    client.drain()
    #expect(client.take() == ["drained 3", "drained 4"])
    client.receive(Self.switched + "welcome")
    #expect(client.take() == ["upgraded 101", "data welcome"])
    #expect(client.sent() == "early words")
    client.write("more")
    #expect(client.sent() == "more")
  }

  @Test("without content, all bytes wait for the server's 101")
  func noContent() throws {
    for fields in [[], [("byway-upgrade-length", "0")]] {
      let client = try asking(fields)
      client.write("early")
      #expect(client.sent() == Self.head + "0\r\n\r\n")
      client.receive(Self.switched)
      #expect(client.sent() == "early")
    }
  }

  @Test("a server that sends 101 before the content receives all bytes in order")
  func earlyAgreement() throws {
    let client = try asking([("byway-upgrade-length", "7")])
    client.write("con")
    client.receive(Self.switched)
    client.write("tentwords")
    #expect(client.sent() == Self.head + "7\r\n\r\ncontentwords")
  }

  @Test("the end of the client's direction is forwarded at once, as it ends a program's input")
  func halfClose() throws {
    let client = try asking()
    client.write("all")
    client.finish()
    #expect(client.session.ending == nil)
    _ = client.sent()
    client.receive(Self.switched)
    #expect(client.sent() == "all")
    #expect(client.session.ending == .endOutput)
    client.receive("output")
    client.receiveEnd()
    #expect(client.take() == ["upgraded 101", "drained 3", "data output", "end"])
  }

  @Test("content shorter than declared fails the exchange, and the server cannot take it as complete")
  func shortContent() throws {
    let client = try asking([("byway-upgrade-length", "7")])
    client.write("con")
    client.finish()
    #expect(client.take().first?.hasPrefix("failed request") == true)
    #expect(client.session.ending == .abort(byReset: false))
  }

  @Test("any other response is an ordinary one, and early bytes are dropped")
  func refused() throws {
    for status in ["200 OK", "404 Not Found", "426 Upgrade Required"] {
      let client = try asking([("byway-upgrade-length", "2")])
      client.write("okearly")
      _ = client.sent()
      client.receive("HTTP/1.1 \(status)\r\nContent-Length: 2\r\n\r\nno")
      #expect(client.take().dropFirst() == ["head \(status.prefix(3))", "data no", "end"])
      #expect(client.session.isReusable && client.sent() == "")
    }
  }

  @Test("a connection is not reused after a refusal that precedes the end of the content")
  func refusedEarly() throws {
    let client = try asking([("byway-upgrade-length", "2")])
    client.write("o")
    _ = client.sent()
    client.receive("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    #expect(!client.session.isReusable)
    #expect(client.session.ending == .abort(byReset: false))
  }

  @Test("an unmarked success fails an upgrade, as it could be mistaken for an open tunnel")
  func unmarked() throws {
    let client = ClientEnd()
    try client.begin("CONNECT", [(":protocol", "tcp"), (":path", "/")], isComplete: false)
    #expect(client.sent().hasPrefix("GET / HTTP/1.1\r\n"))
    client.receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    #expect(client.take() == ["failed notUpgraded(status: 200)"])
  }

  @Test(
    "an invalid method, length or protocol of an upgrade is refused before anything is written",
    arguments: [
      ("byway-upgrade-method", "POST / HTTP/1.1"), ("byway-upgrade-method", "CONNECT"),
      ("byway-upgrade-method", "HEAD"), ("byway-upgrade-method", ""), ("byway-upgrade-length", "-1"),
      ("byway-upgrade-length", "1, 1"), ("byway-upgrade-length", ""), (":protocol", "a b"), (":protocol", "a/b/c"),
      (":protocol", "/3"), (":protocol", "a/"),
    ])
  func hostileFields(_ name: String, _ value: String) throws {
    let client = ClientEnd()
    let usual = [":protocol": "tcp", ":path": "/"].filter { $0.key != name }.map { ($0.key, $0.value) }
    #expect(throws: HTTP1Failure.self) { try client.begin("CONNECT", usual + [(name, value)], isComplete: false) }
    #expect(client.sent() == "")
  }

  @Test("a length without content is refused") func lengthAlone() throws {
    #expect(throws: HTTP1Failure.self) { _ = try asking([("byway-upgrade-length", "7")], isComplete: true) }
  }

  @Test("internal upgrade fields do not affect WebSockets and ordinary requests, and are not forwarded")
  func otherRequests() throws {
    let fields = [("byway-upgrade-method", "POST"), ("byway-upgrade-length", "3"), ("byway-upgrade-status", "200")]
    let client = ClientEnd()
    try client.begin("CONNECT", [(":protocol", "websocket"), (":path", "/")] + fields, isComplete: false)
    client.write("early")
    #expect(
      client.sent() == "GET / HTTP/1.1\r\nHost: here:1\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n")
    let other = ClientEnd()
    try other.begin("GET", fields)
    #expect(other.sent() == "GET / HTTP/1.1\r\nHost: here\r\n\r\n")
  }

  // MARK: Server session

  private static let request = "POST /attach HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n"

  @Test("content and tunnel bytes are reported separately, and the end once")
  func served() throws {
    let server = ServerEnd()
    server.receive(Self.request + "Content-Length: 4\r\n\r\nbodyearly")
    #expect(server.take() == ["head /attach", "content body"])
    try server.session.respond([":status": "101"], isComplete: false, upgrade: "tcp", at: server.now)
    server.drain()
    #expect(server.sent() == "HTTP/1.1 101 Switching Protocols\r\nUpgrade: tcp\r\nConnection: upgrade\r\n\r\n")
    #expect(server.take() == ["content early"])
    server.receiveEnd()
    #expect(server.take() == ["end"])
    // The other direction continues.
    try server.session.write(ByteBuffer(string: "output"))
    #expect(server.sent() == "output")
  }

  @Test("a response before the end of the content is sent at once, and the tunnel waits")
  func earlyAnswer() throws {
    let server = ServerEnd()
    server.receive(Self.request + "Content-Length: 4\r\n\r\nbo")
    try server.session.respond([":status": "101"], isComplete: false, upgrade: "tcp", at: server.now)
    #expect(server.sent().hasPrefix("HTTP/1.1 101 "))
    server.receive("dyGET / HTTP/1.1\r\n")
    #expect(server.take() == ["head /attach", "content bo", "content dy", "content GET / HTTP/1.1\r\n"])
  }

  @Test("bytes after a refused upgrade are never parsed as a request")
  func refusedServed() throws {
    let server = ServerEnd()
    server.receive(Self.request + "\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
    try server.respond(404, "no")
    #expect(server.sent().contains("Connection: close\r\n"))
    server.drain()
    #expect(!server.take().contains("head /smuggled"))
    #expect(server.session.ending == .endOutput)
  }

  @Test("a client that expects 100 receives it before the 101")
  func expectation() throws {
    let server = ServerEnd()
    server.receive(Self.request + "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    server.session.informational([":status": "100"])
    #expect(server.sent() == "HTTP/1.1 100 Continue\r\n\r\n")
    server.receive("body")
    try server.session.respond([":status": "101"], isComplete: false, upgrade: "tcp", at: server.now)
    #expect(server.sent().hasPrefix("HTTP/1.1 101 "))
  }

  @Test("a body that ends early is an incomplete request, not a tunnel")
  func incomplete() {
    let server = ServerEnd()
    server.receive(Self.request + "Content-Length: 4\r\n\r\nbo")
    server.receiveEnd()
    #expect(server.take() == ["head /attach", "content bo", "refused 400"])
  }
}
