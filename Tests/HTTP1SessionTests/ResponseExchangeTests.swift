import BywayHTTP1Session
import BywayHTTPWire
import HTTP1Checks
import NIOCore
import Testing

@Suite("Response parser on a connection")
struct ResponseExchangeTests {
  private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

  private func drain(_ parser: inout ResponseParser) throws(HTTP1Failure) {
    while try parser.nextEvent() != nil {}
  }

  @Test("a connection is reusable after each complete response")
  func reuse() throws {
    var parser = ResponseParser()
    #expect(parser.isReusable == true)
    for _ in 0..<3 {
      parser.begin(.ordinary)
      #expect(parser.isReusable == false)
      parser.receive(ByteBuffer(string: Self.ok))
      try drain(&parser)
      #expect(parser.isReusable == true)
    }
    parser.receiveEnd()
    #expect(parser.isReusable == false)
    #expect(try parser.nextEvent() == nil, "an idle connection may end at any time")
  }

  @Test("a connection is not reusable after Connection: close")
  func close() throws {
    var parser = ResponseParser()
    parser.begin(.ordinary)
    parser.receive(ByteBuffer(string: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
    try drain(&parser)
    #expect(parser.isIdle == true)
    #expect(parser.isReusable == false)
  }

  @Test("the response parser returns a complete response before it reports surplus bytes")
  func leftover() throws {
    var parser = ResponseParser()
    parser.begin(.ordinary)
    parser.receive(ByteBuffer(string: Self.ok + "HTTP/1.1 200 OK\r\n"))
    var isComplete = false
    while !isComplete {
      if case .end? = try parser.nextEvent() { isComplete = true }
    }
    #expect(parser.bufferedBytes == 17)
    #expect(parser.isReusable == false)
    #expect(throws: HTTP1Failure.self) { _ = try parser.nextEvent() }
  }

  @Test("bytes received before a request are never used as its response")
  func early() throws {
    var parser = ResponseParser()
    parser.receive(ByteBuffer(string: Self.ok))
    #expect(parser.isReusable == false)
    parser.begin(.ordinary)
    let failure = #expect(throws: HTTP1Failure.self) { _ = try parser.nextEvent() }
    #expect(failure?.code == .unsolicited)
  }

  @Test("after a failure, the response parser throws the same failure again")
  func failsForGood() {
    var parser = ResponseParser()
    parser.begin(.ordinary)
    parser.receive(ByteBuffer(string: "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"))
    let first = #expect(throws: HTTP1Failure.self) { _ = try parser.nextEvent() }
    parser.receive(ByteBuffer(string: Self.ok))
    let second = #expect(throws: HTTP1Failure.self) { _ = try parser.nextEvent() }
    #expect(first == second)
    #expect(parser.isReusable == false)
  }

  @Test(
    "a peer that does not speak HTTP is quoted, without waiting for a line end",
    arguments: [
      ("SSH-2.0-x", "SSH-2.0-x"), ("\u{00}\u{00}\u{12}\u{04}", "\\x00\\x00\\x12\\x04"), ("<html>", "<html>"),
      ("http/1.1 200 OK\r\n", "http/1.1 200 OK\\x0d\\x0a"),
    ])
  func foreign(_ text: String, _ quoted: String) throws {
    let failure = try #require(readResponse(text).failure)
    #expect(failure.code == .notHTTP)
    #expect(failure.message.contains("\"\(quoted)\""))
  }

  @Test("the response parser returns informational responses, and then the final one")
  func informational() {
    let outcome = readResponse(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 4\r\n\r\n" + Self.ok)
    #expect(outcome.events.first == .informational([":status": "100"]))
    #expect(outcome.events.dropFirst().first == .informational([":status": "103", "link": "</a>"]))
    #expect(outcome.body == "ok")
  }

  @Test("the number of informational responses is limited")
  func informationalFlood() {
    let one = "HTTP/1.1 102 Processing\r\n\r\n"
    #expect(readResponse(String(repeating: one, count: 16) + Self.ok).isComplete)
    #expect(readResponse(String(repeating: one, count: 17) + Self.ok).failure?.code == .tooLarge)
  }

  @Test(
    "if a request for a tunnel is granted, the response parser passes on the bytes of the tunnel",
    arguments: [
      (RequestKind.connect, "HTTP/1.1 200 Connected\r\nContent-Length: 5\r\n\r\n"),
      (.webSocket, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n"),
      (.upgrade, "HTTP/1.1 101 UPGRADED\r\nContent-Length: 3\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"),
    ])
  func tunnel(_ request: RequestKind, _ head: String) throws {
    let outcome = readResponse(head + "raw\r\n bytes", to: request, closed: true)
    #expect(outcome.events.first == .upgraded([":status": request == .connect ? "200" : "101"]))
    #expect(outcome.body == "raw\r\n bytes")
    #expect(outcome.isComplete)

    var parser = ResponseParser()
    parser.begin(request)
    parser.receive(ByteBuffer(string: head + "\u{16}\u{03}"))
    _ = try parser.nextEvent()
    guard case .body(let bytes)? = try parser.nextEvent() else {
      Issue.record("bytes received with the head are lost")
      return
    }
    #expect(String(buffer: bytes) == "\u{16}\u{03}")
  }

  @Test("a refused upgrade is parsed as an ordinary response", arguments: [RequestKind.connect, .webSocket, .upgrade])
  func refusedTunnel(_ request: RequestKind) {
    let outcome = readResponse("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno", to: request)
    #expect(outcome.body == "no")
    #expect(outcome.isComplete)
  }

  @Test(
    "a switch to a protocol that was not requested, or to none, is refused",
    arguments: [
      (RequestKind.ordinary, "Connection: upgrade\r\nUpgrade: websocket\r\n"), (.head, "Upgrade: x\r\n"),
      (.connect, ""), (.upgrade, ""), (.upgrade, "Upgrade: websocket\r\n"),
      (.webSocket, ""),
    ])
  func unaskedSwitch(_ request: RequestKind, _ fields: String) {
    let outcome = readResponse("HTTP/1.1 101 Switching Protocols\r\n\(fields)\r\n", to: request)
    #expect(outcome.failure?.code == .malformed)
  }

  @Test("the response parser removes hop-by-hop fields, including those listed in Connection")
  func hopByHop() throws {
    let head = try #require(
      try readResponseHead(
        "HTTP/1.1 200 OK\r\nX-Hop: 1\r\nConnection: keep-alive, X-HOP\r\nKeep-Alive: timeout=5\r\nTrailer: X-Sum\r\n"
          + "Proxy-Connection: x\r\nUpgrade: h2c\r\nTE: gzip\r\nByway-Target-Form: absolute\r\nByway-Upgrade-Status: 200\r\nSet-Cookie: a\r\n"
          + "Set-Cookie: b\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n"))
    #expect(
      head.fields == [
        ":status": "200", "set-cookie": "a", "set-cookie": "b", "proxy-authenticate": "Basic", "content-length": "0",
      ])
    #expect(head.upgrade == nil, "Connection does not list upgrade")
  }

  @Test("fields listed in Connection are removed from the trailers")
  func hopByHopTrailers() {
    let outcome = readResponse(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: x-hop\r\n\r\n0\r\nX-Hop: 1\r\nX-End: 2\r\n\r\n")
    #expect(outcome.events.last == .end(["x-end": "2"]))
  }

  @Test("the response parser keeps bytes beyond ASCII")
  func obsoleteText() throws {
    let head = try #require(
      try readResponseHead("HTTP/1.1 200 \u{E9}\u{FF}\r\nX: a\u{80}\u{FF} \tb\r\nContent-Length: 0\r\n\r\n"))
    let value = head.fields.lines[1]
    #expect(head.fields.withBytes(of: value) { Array($1) } == bytes("a\u{80}\u{FF} \tb"))
  }

  @Test(
    "a status line without a reason phrase is parsed", arguments: ["HTTP/1.1 200 \r\n\r\n", "HTTP/1.1 200\r\n\r\n"])
  func noReason(_ text: String) throws {
    #expect(try readResponseHead(text)?.status == 200)
  }

  @Test(
    "a malformed status line is refused",
    arguments: [
      "HTTP/1.1  200 OK", "HTTP/1.1 2000 OK", "HTTP/1.1 20 OK", "HTTP/1.1 099 OK", "HTTP/1.1 2x0 OK", "HTTP/1.1200 OK",
      "HTTP/1.1 200OK", "HTTP/11 200 OK", "HTTP/1.11 200 OK", "HTTP/2.0 200 OK", "HTTP/1.1 200 O\u{0}K",
      "HTTP/1.1 200 O\rK", "HTTP/1.1\t200 OK", "HTTP/1.1 +20 OK", "HTTP/", " HTTP/1.1 200 OK",
    ])
  func badStatusLine(_ line: String) {
    #expect(readResponse(line + "\r\nContent-Length: 0\r\n\r\n").failure != nil)
  }
}
