import Byway
import BywayHTTPWire
import NIOCore
import TestWire
import Testing

/// HTTP/1.1 connections that end by their clients, by failures or by timeouts.
@Suite(.timeLimit(.minutes(1))) struct HTTP1ServerEndingTests {
  @Test("a client that has ended its direction still gets its response")
  func halfClose() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\nhi")
    try await server.client.endOutput()
    let exchange = try await server.handler.exchange()
    #expect(try await exchange.requestBody().body == "hi")
    try await exchange.begin([":status": "200", "content-length": "3000000"])
    for _ in 0..<30 { try await exchange.send(ByteBuffer(repeating: 0x61, count: 100_000)) }
    try await exchange.end()
    let response = try await server.client.receiveToEnd()
    #expect(response.hasSuffix("\r\n\r\n" + String(repeating: "a", count: 3_000_000)))
  }

  @Test("a client may end its direction while the last response is being sent")
  func lateHalfClose() async throws {
    let server = try await HTTP1ServerFixture("GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
    try await server.client.setReading(false)
    let size = 16 << 20
    let exchange = try await server.handler.exchange()
    try await exchange.begin([":status": "200", "content-length": "\(size)"])
    for _ in 0..<16 { try await exchange.send(ByteBuffer(repeating: 0x61, count: 1 << 20)) }
    try await exchange.end()
    try await server.client.endOutput()
    _ = try await server.watch.settled { server.connection.value.runningExchanges }
    try await server.client.setReading(true)
    let response = try await server.client.receiveToEnd()
    #expect(response.utf8.count > size)
  }

  @Test("a client that disconnects while idle is closed at once")
  func silentLeave() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.endOutput()
    #expect(try await server.client.receiveToEnd() == "")
  }

  @Test("a client that ends within its request gets an error response, and the handler is notified")
  func halfRequest() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nhalf")
    try await server.handler.exchange().requestBody(until: "half")
    try await server.client.endOutput()
    #expect(try await server.handler.exchange().cancelled().message.contains("4 of 9 bytes"))
    #expect(try await server.client.receiveToEnd().hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
  }

  @Test("a TCP client that disconnects while it waits cancels its exchange, even if the handler writes nothing")
  func leaving() async throws {
    var timeouts = ServerConfiguration.Timeouts()
    timeouts.probe = .milliseconds(10)
    let server = try await HTTP1ServerFixture("GET / HTTP/1.1\r\nHost: here\r\n\r\n", timeouts: timeouts)
    let exchange = try await server.handler.exchange()
    server.client.close()
    #expect(try await exchange.cancelled().code == .cancelled)
  }

  @Test("a client that disconnects cancels its exchange", arguments: ["", "HTTP/1.1 200 OK"])
  func abort(after response: String) async throws {
    let server = try await HTTP1ServerFixture()
    let exchange = try await server.exchange("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nhalf")
    try await exchange.requestBody(until: "half")
    if !response.isEmpty {
      try await exchange.begin([":status": "200"])
      _ = try await server.client.receive(through: response)
    }
    try await server.client.reset()
    #expect(try await exchange.cancelled().code == .cancelled)
  }

  @Test(
    "a failed body never ends like a complete one",
    arguments: [
      [":status": "200"] as FieldSection, [":status": "200", "content-length": "100"],
    ])
  func failedBody(head: FieldSection) async throws {
    let server = try await HTTP1ServerFixture()
    let exchange = try await server.exchange("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    try await exchange.begin(head)
    try await exchange.send("part")
    _ = try await server.client.receive(through: "part")
    try await exchange.fail(BywayError(.linkLost, "Gone."))
    let rest = try await server.client.receiveToEnd()
    #expect(rest == (head.contains(.contentLength) ? "" : "\r\n"))
  }

  @Test("if a failed body could end only with the connection, the connection is reset")
  func failedUntilClose() async throws {
    let server = try await HTTP1ServerFixture()
    let exchange = try await server.exchange("GET / HTTP/1.0\r\nHost: here\r\n\r\n", begin: [":status": "200"])
    try await exchange.send("part")
    _ = try await server.client.receive(through: "part")
    try await exchange.fail(BywayError(.linkLost, "Gone."))
    #expect(try await server.client.wasReset())
  }

  @Test(
    "a response shorter or longer than declared is aborted, and its handler notified", arguments: ["123", "12345"])
  func wrongLength(body: String) async throws {
    let server = try await HTTP1ServerFixture()
    let exchange = try await server.exchange("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    try await exchange.answer([":status": "200", "content-length": "4"], body)
    _ = try await exchange.cancelled()
    #expect(try await !server.client.receiveToEnd().hasSuffix("1234"))
  }

  @Test(
    "an invalid response head becomes an error response",
    arguments: [
      [":status": "200", "x": "a\r\nb: c"] as FieldSection, [":status": "99"], [":status": "101"],
      [":status": "200", "content-length": "x"],
    ])
  func unwritableHead(head: FieldSection) async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    try await server.handler.exchange().begin(head)
    #expect(try await server.client.receive(through: "}\n").hasPrefix("HTTP/1.1 502 Bad Gateway\r\n"))
  }

  @Test("a response before the end of its request ends the connection, and can be read completely")
  func earlyAnswer() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 99999999\r\n\r\nfirst")
    try await server.handler.exchange().answer([":status": "413", "content-length": "4"], "less")
    _ = try await server.client.receive(through: "\r\n\r\nless")
    // Further bytes are read and dropped, so that no reset overtakes the response.
    for _ in 0..<20 { server.client.offer(ByteBuffer(repeating: 0, count: 50_000)) }
    #expect(try await server.client.receiveToEnd() == "")
    #expect(try await !server.client.wasReset())
  }

  @Test("a connection without any request closes after a while")
  func idle() async throws {
    var timeouts = ServerConfiguration.Timeouts()
    timeouts.idle = .milliseconds(30)
    let server = try await HTTP1ServerFixture(timeouts: timeouts)
    #expect(try await server.client.receiveToEnd() == "")
  }

  @Test("a connection that is idle between two requests closes after a while")
  func idleAgain() async throws {
    var timeouts = ServerConfiguration.Timeouts()
    timeouts.idle = .milliseconds(100)
    let request = "GET / HTTP/1.1\r\nHost: here\r\n\r\n"
    let server = try await HTTP1ServerFixture(request, timeouts: timeouts) { $0.answerNow([":status": "204"]) }
    #expect(try await server.client.receiveToEnd() == "HTTP/1.1 204 No Content\r\n\r\n")
  }

  @Test("a slow request head is answered with 408 after the timeout, even if bytes keep arriving")
  func slowHead() async throws {
    var timeouts = ServerConfiguration.Timeouts()
    timeouts.head = .milliseconds(30)
    let server = try await HTTP1ServerFixture(timeouts: timeouts)
    for byte in "GET / H".utf8 { server.client.offer(ByteBuffer(bytes: [byte])) }
    #expect(try await server.client.receiveToEnd().hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
  }

  @Test("a handler and a body may take longer than the timeout for heads")
  func slowBody() async throws {
    var timeouts = ServerConfiguration.Timeouts()
    timeouts.head = .milliseconds(10)
    let server = try await HTTP1ServerFixture(timeouts: timeouts)
    let exchange = try await server.exchange("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\na")
    let start = NIODeadline.now()
    try await server.watch.until("60 ms passed") { NIODeadline.now() - start > .milliseconds(60) }
    try await server.client.send("b")
    #expect(try await exchange.requestBody().body == "ab")
  }

  @Test("draining closes an idle connection at once")
  func drainIdle() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.drain()
    #expect(try await server.client.receiveToEnd() == "")
  }

  @Test("draining lets the running exchange finish, and begins no other")
  func drainRunning() async throws {
    let server = try await HTTP1ServerFixture()
    let exchange = try await server.exchange(
      "GET / HTTP/1.1\r\nHost: here\r\n\r\nGET /2 HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(try await server.watch.run { server.connection.value.runningExchanges } == 1)
    try await server.drain()
    try await exchange.answer([":status": "200", "content-length": "4"], "done")
    let response = try await server.client.receiveToEnd()
    #expect(response.contains("Connection: close\r\n"))
    #expect(response.hasSuffix("\r\n\r\ndone"))
    #expect(try await server.handler.count == 1)
  }
}
