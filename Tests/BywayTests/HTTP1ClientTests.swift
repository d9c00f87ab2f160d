import Byway
import BywayHTTPWire
import NIOCore
import TestWire
import Testing

/// Requests to an HTTP/1.1 origin, and its responses.
@Suite(.timeLimit(.minutes(1))) struct HTTP1ClientTests {
  @Test("a request and its response pass, with trailers in both directions and informational responses")
  func exchange() async throws {
    let client = try await HTTP1ClientFixture()
    var request = FieldSection.post
    request.append(.te, "trailers")
    let response = try await client.begin(request, isComplete: false)
    try await response.send("abc")
    try await response.end(trailers: ["x-sum": "1"])
    let origin = try await client.origin()
    #expect(
      try await origin.receive(through: "3\r\nabc\r\n0\r\nx-sum: 1\r\n\r\n").hasPrefix(
        "POST / HTTP/1.1\r\nHost: device\r\nTE: trailers\r\nConnection: TE\r\nTransfer-Encoding: chunked\r\n\r\n"))
    try await origin.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
    try await origin.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\nX-Sum: 2\r\n\r\n")
    let (head, body, trailers) = try await response.response()
    #expect(head.text() == [":status: 200", "via: 1.1 hop"])
    #expect(body == "de")
    #expect(trailers?.text() == ["x-sum: 2"])
    #expect(try await response.informationalResponses.map { $0.text() } == [[":status: 103", "link: </a>"]])
  }

  @Test("a connection is reused, and credit of one exchange does not count for the next")
  func reuse() async throws {
    let client = try await HTTP1ClientFixture()
    try await client.warmUp()
    for _ in 0..<3 {
      let response = try await client.begin()
      let origin = try await client.origin()
      _ = try await origin.receive(through: "\r\n\r\n")
      try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      #expect(try await response.response().body == "ok")
    }
    #expect(client.connectionCount == 1)
  }

  @Test("a body that ends with the connection is incomplete if the connection is reset")
  func resetWithinBody() async throws {
    let client = try await HTTP1ClientFixture()
    let response = try await client.begin()
    let origin = try await client.origin()
    _ = try await origin.receive(through: "\r\n\r\n")
    try await origin.send("HTTP/1.1 200 OK\r\n\r\npart")
    try await response.body(until: "part")
    try await origin.reset()
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .originLost)
  }

  @Test(
    "a connection that must close is not reused",
    arguments: [
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
      "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
    ])
  func noReuse(answer: String) async throws {
    let client = try await HTTP1ClientFixture()
    let response = try await client.begin()
    let origin = try await client.origin()
    _ = try await origin.receive(through: "\r\n\r\n")
    try await origin.send(answer)
    #expect(try await response.response().body == "ok")
    #expect(try await origin.receiveToEnd() == "")
    _ = try await client.begin()
    _ = try await client.origin(1).receive(through: "\r\n\r\n")
  }

  @Test(
    "a connection is not reused after a response that precedes the end of its request",
    arguments: [nil, "100"])
  func answeredEarly(length: String?) async throws {
    let client = try await HTTP1ClientFixture()
    var request = FieldSection.post
    if let length { request.append(.contentLength, length) }
    let refused = try await client.begin(request, isComplete: false)
    try await refused.send("abc")
    let first = try await client.origin()
    _ = try await first.receive(through: "abc")
    try await first.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
    #expect(try await refused.response().head.status == 413)
    #expect(try await client.answer(client.begin(), on: 1).hasPrefix("GET / HTTP/1.1\r\n"))
    #expect(try await !first.receiveToEnd().contains("GET"))
  }

  @Test("every response may have the same number of informational responses, however often its connection was used")
  func hints() async throws {
    let client = try await HTTP1ClientFixture()
    for _ in 0..<20 {
      let response = try await client.begin()
      let origin = try await client.origin()
      _ = try await origin.receive(through: "\r\n\r\n")
      try await origin.send("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")
      #expect(try await response.response().head.status == 204)
      #expect(try await response.informationalResponses.count == 1)
    }
    #expect(client.connectionCount == 1)
  }

  @Test("an idle connection that the origin has closed is replaced, and the request succeeds")
  func closedWhileIdle() async throws {
    let client = try await HTTP1ClientFixture()
    try await client.warmUp()
    try await client.origin().close()
    try await client.answer(client.begin(), on: 1)
  }

  @Test("a body that was sent twice is credited once")
  func creditOnce() async throws {
    let client = try await HTTP1ClientFixture { $0.reuse = .forAll }
    try await client.warmUp()
    var request = FieldSection.post
    request.set(.method, "PUT")
    let response = try await client.begin(request, isComplete: false)
    try await response.send("body")
    try await response.credited(4)
    let first = try await client.origin()
    _ = try await first.receive(through: "4\r\nbody\r\n")
    first.close()
    let second = try await client.origin(1)
    _ = try await second.receive(through: "4\r\nbody\r\n")
    try await response.end()
    _ = try await second.receive(through: "0\r\n\r\n")
    try await second.send(HTTP1ClientFixture.answer)
    #expect(try await response.response().head.status == 204)
    #expect(try await response.creditedBytes == 4)
  }

  @Test(
    "an invalid or truncated response is reported as such",
    arguments: [
      ("SSH-2.0-OpenSSH\r\n", BywayError.Code.protocolViolation),
      ("HTTP/1.1 200 OK\r\nContent-Le", .incompleteResponse),
      ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", .incompleteResponse), ("", .originLost),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", .incompleteResponse),
      ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", .protocolViolation),
      ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n", .protocolViolation),
    ])
  func badAnswers(answer: String, code: BywayError.Code) async throws {
    let client = try await HTTP1ClientFixture()
    let response = try await client.begin()
    let origin = try await client.origin()
    _ = try await origin.receive(through: "\r\n\r\n")
    if !answer.isEmpty { try await origin.send(answer) }
    try await origin.endOutput()
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == code)
    #expect(error?.message.contains("origin") == true)
    #expect(try await origin.receiveToEnd() == "")
  }

  @Test("an invalid request fails before anything is written, and its connection serves the next one")
  func unwritable() async throws {
    let client = try await HTTP1ClientFixture()
    var request = FieldSection.get
    request.append(name: "x", value: "a\r\nb: c")
    let failed = try await client.begin(request)
    let error = await #expect(throws: BywayError.self) { try await failed.response() }
    #expect(error?.code == .invalidRequest)
    #expect(error?.processing == BywayError.Processing.none)
    #expect(try await client.answer(client.begin()).hasPrefix("GET / HTTP/1.1\r\n"))
    #expect(client.connectionCount == 1)
  }

  @Test("a reader that stops consuming stops the origin, and memory use stays limited")
  func slowReader() async throws {
    let client = try await HTTP1ClientFixture()
    let response = try await client.begin()
    try await response.setConsuming(false)
    let origin = try await client.origin()
    _ = try await origin.receive(through: "\r\n\r\n")
    try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: \(32 << 20)\r\n\r\n")
    for _ in 0..<32 { origin.offer(ByteBuffer(repeating: 0x61, count: 1 << 20)) }
    _ = try await response.responseHead()
    // The limit, plus the bytes that one turn of the loop may read beyond it.
    #expect(try await response.settledBodyBytes() <= (256 + 4 * 256) * 1024)
    try await response.setConsuming(true)
    #expect(try await response.response().body.utf8.count == 32 << 20)
  }
}
