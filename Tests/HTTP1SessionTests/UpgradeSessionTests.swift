import BywayHTTP1Session
import BywayHTTPWire
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

  @Test("an upgrade request is sent with exactly its content, and further bytes follow after the server's 101")
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

  @Test("a response other than 101 to an upgrade is an ordinary one, and early bytes are dropped")
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

  @Test("an upgrade with a length but without content is refused") func lengthAlone() throws {
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

  // MARK: Servers of containers

  @Test(
    "a success without framing opens an upgrade to tcp, as servers of containers do", arguments: ["200 OK", "201 Made"])
  func attached(_ status: String) throws {
    let client = try asking([("byway-upgrade-length", "2")])
    client.write("okearly")
    _ = client.sent()
    client.receive("HTTP/1.1 \(status)\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\nout")
    #expect(client.take() == ["drained 2", "upgraded \(status.prefix(3))", "data out"])
    #expect(client.sent() == "early")
    client.finish()
    #expect(client.session.ending == .endOutput)
    client.receive("put")
    client.receiveEnd()
    #expect(client.take() == ["drained 5", "data put", "end"])
  }

  @Test("a server that closes right after it has opened the tunnel ends the response")
  func attachedShortly() throws {
    let client = try asking()
    client.receive("HTTP/1.1 200 OK\r\n\r\n")
    client.receiveEnd()
    #expect(client.take() == ["upgraded 200", "end"])
    #expect(client.session.ending != nil && !client.session.isReusable)
  }

  @Test(
    "a response that only lasts until the connection closes opens no tunnel",
    arguments: [
      ("tcp", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nno"), ("tcp", "HTTP/1.0 200 OK\r\n\r\nno"),
      ("tcp", "HTTP/1.1 404 Not Found\r\n\r\nno"), ("SPDY/3.1", "HTTP/1.1 200 OK\r\n\r\nno"),
    ])
  func untilClose(_ name: String, _ response: String) throws {
    let client = ClientEnd()
    try client.begin(
      "CONNECT", [(":protocol", name), (":path", "/"), ("byway-upgrade-method", "POST")], isComplete: false)
    client.write("early")
    _ = client.sent()
    client.receive(response)
    client.receiveEnd()
    #expect(client.take() == ["head \(response.dropFirst(9).prefix(3))", "data no", "end"])
    #expect(client.sent() == "")
  }

  // MARK: Server session

  /// Returns the start of a command by a client that sends no `Upgrade`, for example podman 4.
  private static func exec(
    _ method: String = "POST", id: String = .init(repeating: "0a", count: 32), after: String = ""
  )
    -> String
  {
    "\(method) /v4.3.1/libpod/exec/\(id)/start\(after) HTTP/1.1\r\nHost: h\r\n"
  }

  private static let stream: FieldSection = [":status": "200", "content-type": "application/vnd.docker.raw-stream"]

  @Test("a client that attaches without Upgrade receives an ordinary head, and its first bytes separately")
  func attach() throws {
    let server = ServerEnd()
    server.receive(Self.exec() + "Content-Length: 4\r\n\r\nbody")
    #expect(server.take().last == "content body")
    try server.session.respond(Self.stream, isComplete: false, attaches: true, at: server.now)
    try server.session.write(ByteBuffer(string: "out"))
    #expect(server.sent() == "HTTP/1.1 200 OK\r\ncontent-type: application/vnd.docker.raw-stream\r\n\r\n")
    server.receive("GET / HTTP/1.1\r\n\r\n")
    #expect(server.take() == ["content GET / HTTP/1.1\r\n\r\n"])
    server.pass(.milliseconds(49))
    #expect(server.sent() == "")
    server.pass(.milliseconds(1))
    #expect(server.sent() == "out")
    try server.session.write(ByteBuffer(string: "put"))
    #expect(server.sent() == "put")
    server.receiveEnd()
    #expect(server.take() == ["drained 3", "drained 3", "end"] && server.session.ending == nil)
    try server.session.finish(trailers: nil, at: server.now)
    server.drain()
    #expect(server.take() == ["closed"] && server.session.ending == .close(within: .minutes(5)))
  }

  @Test("the whole output of a tunnel that ends at once reaches the client")
  func attachShortly() throws {
    let server = ServerEnd()
    server.receive(Self.exec() + "Content-Length: 4\r\n\r\nbody")
    try server.session.respond(Self.stream, isComplete: false, attaches: true, at: server.now)
    try server.session.write(ByteBuffer(string: "out"))
    try server.session.finish(trailers: nil, at: server.now)
    _ = server.sent()
    #expect(server.session.ending == nil)
    server.pass(.milliseconds(50))
    #expect(server.sent() == "out")
    #expect(server.session.ending == .endOutput && server.take().last == "closed")
  }

  @Test("bytes that wait for a client are dropped with its connection")
  func attachCut() throws {
    let server = ServerEnd()
    server.receive(Self.exec() + "Content-Length: 4\r\n\r\nbody")
    try server.session.respond(Self.stream, isComplete: false, attaches: true, at: server.now)
    try server.session.write(ByteBuffer(string: "out"))
    server.session.cutShort()
    #expect(server.session.nextDeadline == nil && server.session.ending == .abort(byReset: true))
  }

  @Test("bytes of a client that takes an ordinary answer for a tunnel are never parsed as a request")
  func attachDeclined() throws {
    for status in [200, 409] {
      let server = ServerEnd()
      server.receive(Self.exec() + "Content-Length: 4\r\n\r\nbody")
      try server.respond(status, "no")
      #expect(server.sent().contains("Connection: close\r\n"))
      server.receive("GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(!server.take().contains("head /smuggled") && server.session.ending == .endOutput)
    }
  }

  @Test(
    "only POST with content of known length to the address of a command attaches",
    arguments: [
      (exec() + "Content-Length: 4\r\n\r\n", true), (exec(after: "?x=/start") + "Content-Length: 4\r\n\r\n", true),
      (exec() + "Content-Length: 0\r\n\r\n", false), (exec() + "\r\n", false),
      (exec() + "Transfer-Encoding: chunked\r\n\r\n", false), (exec("PUT") + "Content-Length: 4\r\n\r\n", false),
      (exec(id: "12") + "Content-Length: 4\r\n\r\n", false),
      (exec(id: .init(repeating: "g", count: 64)) + "Content-Length: 4\r\n\r\n", false),
      (exec(id: .init(repeating: "a", count: 65)) + "Content-Length: 4\r\n\r\n", false),
      (exec(after: "/x") + "Content-Length: 4\r\n\r\n", false),
      (exec().replacing("HTTP/1.1", with: "HTTP/1.0") + "Content-Length: 4\r\n\r\n", false),
      (
        "POST /x?/exec/\(String(repeating: "a", count: 64))/start HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n",
        false
      ),
    ])
  func attachTarget(_ request: String, _ attaches: Bool) throws {
    let session = HTTP1ServerSession(at: .uptimeNanoseconds(1))
    session.receive(ByteBuffer(string: request), at: .uptimeNanoseconds(1))
    guard case .head(let head) = session.nextEvent() else {
      Issue.record("There is no head.")
      return
    }
    #expect(head.kind == (attaches ? .attach : .ordinary))
  }

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
