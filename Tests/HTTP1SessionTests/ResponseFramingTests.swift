import BywayHTTP1Session
import BywayHTTPWire
import HTTP1Checks
import Testing

@Suite("End of a response (RFC 9112 §6.3)")
struct ResponseFramingTests {
  @Test("a response body has as many bytes as Content-Length declares")
  func contentLength() throws {
    let outcome = readResponse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    #expect(
      outcome.events == [
        .response([":status": "200", "content-length": "5"], .length(5), keepAlive: true), .body(bytes("hello")),
        .end(nil),
      ])
  }

  @Test("chunks are parsed, their extensions dropped, and their trailers kept")
  func chunks() {
    let outcome = readResponse(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
        + "5\r\nhello\r\n1;a\r\n,\r\n6 ; b=\"c;d\"\r\n world\r\n0;last\r\nX-Sum: 1\r\nContent-Length: 7\r\n\r\n")
    #expect(outcome.body == "hello, world")
    #expect(
      outcome.events.first == .response([":status": "200"], .chunked, keepAlive: true),
      "the transfer coding is not forwarded")
    #expect(outcome.events.last == .end(["x-sum": "1"]), "framing fields are dropped from trailers")
  }

  @Test("a response without a length ends with the connection")
  func untilClose() throws {
    let text = "HTTP/1.1 200 OK\r\n\r\nall of it"
    #expect(!readResponse(text).isComplete)
    let outcome = readResponse(text, closed: true)
    #expect(outcome.body == "all of it")
    #expect(outcome.isComplete)
    let head = try #require(try readResponseHead(text))
    #expect(head.framing == .untilClose)
    #expect(!head.keepAlive)
  }

  @Test(
    "a response that cannot have a body ends with its head",
    arguments: [
      (RequestKind.head, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
      (.head, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
      (.head, "HTTP/1.1 200 OK\r\n\r\n"),
      (.ordinary, "HTTP/1.1 204 No Content\r\n\r\n"),
      (.ordinary, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"),
      (.ordinary, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ])
  func noBody(_ request: RequestKind, _ text: String) {
    #expect(readResponse(text, to: request).isComplete)
  }

  @Test("a response to HEAD and a 304 keep their length, and a 204 loses it")
  func lengthWithoutBody() throws {
    let unmodified = try #require(try readResponseHead("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n"))
    #expect(unmodified.fields.value(of: .contentLength) == "9")
    let empty = try #require(try readResponseHead("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n"))
    #expect(!empty.fields.contains(.contentLength))
    #expect(!empty.keepAlive, "the server may still send a body")
  }

  @Test(
    "equal Content-Length values are merged",
    arguments: [
      "Content-Length: 2\r\nContent-Length: 2", "Content-Length: 2, 2", "Content-Length: 02\r\nContent-Length: 2",
    ]
  )
  func equalLengths(_ fields: String) {
    let outcome = readResponse("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nab")
    #expect(
      outcome.events == [
        .response([":status": "200", "content-length": "2"], .length(2), keepAlive: true), .body(bytes("ab")),
        .end(nil),
      ])
  }

  @Test(
    "a response with ambiguous framing is refused",
    arguments: [
      "Content-Length: 2\r\nContent-Length: 3", "Content-Length: 2, 3", "Content-Length: 2,", "Content-Length: -1",
      "Content-Length: +1", "Content-Length: 0x2", "Content-Length: 1 2", "Content-Length:",
      "Content-Length: 99999999999999999999", "Transfer-Encoding: chunked\r\nContent-Length: 2",
      "Content-Length: 2\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked, identity",
      "Transfer-Encoding: identity", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: gzip, chunked",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: xchunked",
      "Transfer-Encoding: chunked;q=1", "Transfer-Encoding:", "Transfer-Encoding : chunked",
    ])
  func doubtful(_ fields: String) {
    let outcome = readResponse("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n2\r\nab\r\n0\r\n\r\n")
    #expect(outcome.failure != nil)
    #expect(outcome.events.isEmpty)
  }

  @Test("chunks in an HTTP/1.0 response are refused")
  func oldChunks() {
    #expect(
      readResponse("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n").failure?.code == .malformed)
  }

  @Test(
    "the response head determines whether the connection stays open",
    arguments: [
      ("HTTP/1.1 200 OK\r\n", true), ("HTTP/1.1 200 OK\r\nConnection: close\r\n", false),
      ("HTTP/1.1 200 OK\r\nConnection: x, Close\r\n", false),
      ("HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: close\r\n", false),
      ("HTTP/1.0 200 OK\r\n", false), ("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n", true),
      ("HTTP/1.7 200 OK\r\n", true),
    ])
  func keepAlive(_ head: String, _ expected: Bool) throws {
    #expect(try readResponseHead(head + "Content-Length: 0\r\n\r\n")?.keepAlive == expected)
  }

  @Test(
    "if the connection ends early, the error says how much of the response was received",
    arguments: [
      ("", HTTP1Failure.Progress.beforeHead), ("HTTP/1.1 100 Continue\r\n\r\n", .beforeHead), ("HTTP/1", .inHead),
      ("HTTP/1.1 200 OK\r\n", .inHead), ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r", .inHead),
      ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", .inBody(received: 0, expected: 5)),
      ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", .inBody(received: 3, expected: 5)),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", .inBody(received: 3, expected: nil)),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", .inBody(received: 3, expected: nil)),
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", .inBody(received: 3, expected: nil)),
    ])
  func incomplete(_ text: String, _ progress: HTTP1Failure.Progress) {
    #expect(readResponse(text).failure == nil)
    #expect(readResponse(text, closed: true).failure?.code == .incomplete(progress))
  }
}
