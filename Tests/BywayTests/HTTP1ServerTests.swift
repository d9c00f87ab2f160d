import Byway
import BywayHTTPWire
import NIOCore
import TestWire
import Testing

/// Requests and responses of an HTTP/1.1 client.
@Suite(.timeLimit(.minutes(1))) struct HTTP1ServerTests {
  @Test("a request reaches the handler in the form of HTTP/2, and the response reaches the client")
  func exchange() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(
      "GET /a?b=%20 HTTP/1.1\r\nHost: Here:80\r\nConnection: x-hop\r\nX-Hop: 1\r\nX: y\r\n\r\n")
    let exchange = try await server.handler.exchange()
    #expect(exchange.isComplete)
    #expect(
      Set(exchange.head.text()) == [
        ":method: GET", ":path: /a?b=%20", ":authority: Here:80", ":scheme: http", "x: y", "via: 1.1 hop",
      ])
    try await exchange.answer([":status": "200", "content-length": "5", "x": "z"], "hello")
    let response = try await server.client.receive(through: "hello")
    #expect(response == "HTTP/1.1 200 OK\r\nx: z\r\nContent-Length: 5\r\n\r\nhello")
  }

  @Test("a target in absolute form is marked, and its host takes precedence")
  func absoluteForm() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(
      "GET http://there:81/p HTTP/1.1\r\nHost: here\r\nByway-Target-Form: lie\r\n\r\n")
    let head = try await server.handler.exchange().head
    #expect(
      Set(head.text(without: .via)) == [
        ":method: GET", ":path: /p", ":authority: there:81", ":scheme: http", "byway-target-form: absolute",
      ])
  }

  @Test("a client's own mark of absolute form is removed")
  func forgedMark() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send("GET /p HTTP/1.1\r\nHost: here\r\nByway-Target-Form: absolute\r\n\r\n")
    #expect(try await !server.handler.exchange().head.contains(.targetForm))
  }

  @Test("the next request is served on the same connection")
  func keepAlive() async throws {
    let server = try await HTTP1ServerFixture()
    for index in 0..<3 {
      try await server.client.send("GET /\(index) HTTP/1.1\r\nHost: here\r\n\r\n")
      try await server.handler.exchange(index).answer([":status": "200"], "<\(index)>")
      let response = try await server.client.receive(through: "\r\n0\r\n\r\n")
      #expect(response.contains("Transfer-Encoding: chunked\r\n\r\n3\r\n<\(index)>"))
    }
  }

  @Test(
    "the connection closes after the response if the client asks for it, or uses HTTP/1.0",
    arguments: [
      "GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\nHost: here\r\n\r\n",
    ])
  func closes(request: String) async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(request)
    try await server.handler.exchange().answer([":status": "200", "content-length": "2"], "ok")
    let response = try await server.client.receiveToEnd()
    #expect(response.contains("Connection: close\r\n"))
    #expect(response.hasSuffix("\r\n\r\nok"))
  }

  @Test("pipelined requests are answered in order, one at a time")
  func pipelining() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(
      "POST /0 HTTP/1.1\r\nHost: here\r\nContent-Length: 3\r\n\r\none"
        + (1...3).map { "GET /\($0) HTTP/1.1\r\nHost: here\r\n\r\n" }.joined())
    for index in 0...3 {
      let exchange = try await server.handler.exchange(index)
      #expect(try await server.handler.count == index + 1)
      #expect(exchange.head.value(of: .path) == "/\(index)")
      try await exchange.answer([":status": "200", "content-length": "1"], "\(index)")
    }
    for index in 0...3 { _ = try await server.client.receive(through: "\r\n\r\n\(index)") }
  }

  @Test("three thousand pipelined requests with immediate responses need no deeper stack than one")
  func deepPipeline() async throws {
    let server = try await HTTP1ServerFixture { $0.answerNow([":status": "204"]) }
    let request = "GET / HTTP/1.1\r\nHost: here\r\n\r\n"
    server.client.offer(ByteBuffer(string: String(repeating: request, count: 3_000)))
    let answer = "HTTP/1.1 204 No Content\r\n\r\n"
    let received = try await server.client.receive(count: 3_000 * answer.utf8.count)
    #expect(String(buffer: received) == String(repeating: answer, count: 3_000))
  }

  @Test("a body and its trailers reach the handler, and trailers of the response reach the client")
  func trailers() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(
      "POST / HTTP/1.1\r\nHost: here\r\nTE: trailers\r\nConnection: TE\r\nTransfer-Encoding: chunked\r\n\r\n"
        + "3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n")
    let exchange = try await server.handler.exchange()
    #expect(!exchange.isComplete)
    #expect(exchange.head.value(of: .te) == "trailers")
    let (body, trailers) = try await exchange.requestBody()
    #expect(body == "abc")
    #expect(trailers?.text() == ["x-sum: 1"])
    try await exchange.begin([":status": "200"])
    try await exchange.send("def")
    try await exchange.end(trailers: ["x-sum": "2"])
    _ = try await server.client.receive(through: "3\r\ndef\r\n0\r\nx-sum: 2\r\n\r\n")
  }

  @Test("the response to HEAD keeps its length and has no body")
  func headRequest() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send("HEAD / HTTP/1.1\r\nHost: here\r\n\r\n")
    try await server.handler.exchange().answer([":status": "200", "content-length": "100"])
    try await server.client.send("GET /2 HTTP/1.1\r\nHost: here\r\n\r\n")
    try await server.handler.exchange(1).answer([":status": "204"])
    let responses = try await server.client.receive(through: "204 No Content\r\n\r\n")
    #expect(responses == "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")
  }

  @Test("informational responses pass, and a 100 precedes the body")
  func informational() async throws {
    let server = try await HTTP1ServerFixture()
    let exchange = try await server.exchange(
      "PUT / HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    #expect(exchange.head.value(of: .expect) == "100-continue")
    try await exchange.informational([":status": "103", "link": "</a>"])
    try await exchange.informational([":status": "100"])
    let hints = try await server.client.receive(through: "100 Continue\r\n\r\n")
    #expect(hints == "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
    try await server.client.send("body")
    #expect(try await exchange.requestBody().body == "body")
    try await exchange.answer([":status": "201"])
    #expect(try await server.client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 201 Created\r\n"))
  }

  @Test("a refused expectation ends the connection, because the body may or may not follow")
  func refusedExpectation() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send("PUT / HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
    try await server.handler.exchange().answer([":status": "417"])
    let response = try await server.client.receiveToEnd()
    #expect(response.hasPrefix("HTTP/1.1 417 Expectation Failed\r\n"))
    #expect(response.contains("Connection: close\r\n"))
  }

  @Test("a failure before the head becomes a problem document, and the connection stays open")
  func failure() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\nGET /2 HTTP/1.1\r\nHost: here\r\n\r\n")
    try await server.handler.exchange().fail(BywayError(.linkUnavailable, "No cable."))
    let response = try await server.client.receive(through: "}\n")
    #expect(response.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
    #expect(response.contains("proxy-status: hop; error=destination_unavailable; details=\"No cable.\"\r\n"))
    #expect(response.contains("application/problem+json"))
    try await server.handler.exchange(1).answer([":status": "204"])
    _ = try await server.client.receive(through: "204 No Content\r\n\r\n")
  }

  @Test(
    "a request that returns to a hop it has already passed is stopped",
    arguments: [
      "Via: 1.1 elsewhere, 2.0 hop", "Via: 2.0 hop, 1.1 elsewhere", "Via: 1.1 a, 2.0 hop (comment), 1.1 b",
      "Via: 1.1 a\r\nVia: 2.0 hop, 1.1 b\r\nVia: 1.1 c",
    ])
  func loop(_ via: String) async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send("GET / HTTP/1.1\r\nHost: here\r\n\(via)\r\n\r\n")
    #expect(try await server.client.receive(through: "}\n").hasPrefix("HTTP/1.1 508 "))
    #expect(try await server.handler.count == 0)
  }
}
