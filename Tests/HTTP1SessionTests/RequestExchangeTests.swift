import BywayHTTP1Session
import BywayHTTPWire
import HTTP1Checks
import NIOCore
import Testing

@Suite("Request parser on a connection")
struct RequestExchangeTests {
  private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

  @Test("the request parser separates pipelined requests, each with its own body")
  func pipeline() {
    let outcome = readRequests(
      "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc\r\n" + Self.get
        + "PUT /3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n")
    #expect(outcome.failure == nil)
    #expect(outcome.events.count == 8)
    #expect(outcome.body == "abcde")
    #expect(outcome.events.last == .end(["x": "y"]))
  }

  @Test("the request parser reads no further than requested")
  func pull() throws {
    var parser = RequestParser()
    parser.receive(ByteBuffer(string: Self.get + "GARBAGE\r\n"))
    guard case .head = try parser.nextEvent(), case .end = try parser.nextEvent() else {
      Issue.record("The first request is missing.")
      return
    }
    #expect(parser.isIdle == false)
    #expect(parser.bufferedBytes == 9)
    #expect(throws: HTTP1Failure.self) { _ = try parser.nextEvent() }
  }

  @Test("the request parser skips one empty line before a request, and no more")
  func emptyLine() throws {
    #expect(readRequests("\r\n" + Self.get).isComplete)
    #expect(readRequests("\r\n\r\n" + Self.get).failure?.code == .malformed)
    #expect(readRequests("\r" + Self.get).failure?.code == .malformed)
    #expect(readRequests("\n" + Self.get).failure?.code == .notHTTP)

    var parser = RequestParser()
    parser.receive(ByteBuffer(string: "\r\n"))
    parser.receiveEnd()
    #expect(try parser.nextEvent() == nil)
    #expect(parser.isClosed == true)
  }

  @Test("if CONNECT is granted, the request parser passes on the bytes of a tunnel")
  func tunnel() throws {
    var parser = RequestParser()
    parser.receive(ByteBuffer(string: "CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\nGET / raw"))
    guard case .head = try parser.nextEvent(), case .end = try parser.nextEvent() else {
      Issue.record("The request is missing.")
      return
    }
    parser.becomeTunnel()
    guard case .body(let bytes) = try parser.nextEvent() else {
      Issue.record("The tunnel's bytes are missing.")
      return
    }
    #expect(String(buffer: bytes) == "GET / raw")
    #expect(try parser.nextEvent() == nil)
    parser.receiveEnd()
    guard case .end = try parser.nextEvent() else {
      Issue.record("The tunnel does not end.")
      return
    }
    #expect(parser.isClosed == true)
    #expect(try parser.nextEvent() == nil)
  }

  @Test(
    "a client that leaves between requests is distinguished from one that leaves within a request",
    arguments: [
      ("", nil), (Self.get, nil), ("G", HTTP1Failure.Progress.inHead), ("GET / HTTP/1.1\r\nHost: h\r\n", .inHead),
      ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na", .inBody(received: 1, expected: 3)),
    ])
  func clientLeaves(_ text: String, _ progress: HTTP1Failure.Progress?) {
    #expect(readRequests(text, closed: true).failure?.code == progress.map(HTTP1Failure.Code.incomplete))
  }

  @Test(
    "the request parser recognizes another protocol by its first byte",
    arguments: ["\u{16}\u{03}\u{01}", "\u{00}", "{\"a\":1}"])
  func foreign(_ text: String) {
    #expect(readRequests(text).failure?.code == .notHTTP)
  }

  @Test("the request parser returns bodies as slices of the received bytes")
  func slices() throws {
    var parser = RequestParser()
    parser.receive(ByteBuffer(string: "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n"))
    _ = try parser.nextEvent()
    let piece = ByteBuffer(string: "abcdef")
    parser.receive(piece)
    guard case .body(let body) = try parser.nextEvent() else {
      Issue.record("The body is missing.")
      return
    }
    let isShared = piece.withUnsafeReadableBytes { piece in
      body.withUnsafeReadableBytes { $0.baseAddress == piece.baseAddress }
    }
    #expect(isShared)
  }
}
