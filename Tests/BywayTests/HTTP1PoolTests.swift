import Byway
import BywayHTTPWire
import NIOCore
import TestWire
import Testing

/// Connections and timeouts of an HTTP/1.1 upstream.
@Suite(.timeLimit(.minutes(1))) struct HTTP1PoolTests {
  @Test("requests beyond the connection limit wait in order")
  func limit() async throws {
    let client = try await HTTP1ClientFixture { $0.maximumConnections = 1 }
    var responses: [CollectedResponse] = []
    for index in 0..<3 {
      var request = FieldSection.get
      request.set(.path, "/\(index)")
      responses.append(try await client.begin(request))
    }
    for index in 0..<3 {
      let origin = try await client.origin()
      #expect(try await origin.receive(through: "\r\n\r\n").hasPrefix("GET /\(index) "))
      try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(index)")
      #expect(try await responses[index].response().body == "\(index)")
    }
    #expect(client.connectionCount == 1)
  }

  @Test("a request that waits too long while all connections are in use fails as refused and not processed")
  func waitEnds() async throws {
    let client = try await HTTP1ClientFixture {
      $0.maximumConnections = 1
      $0.queueing = .milliseconds(200)
    }
    _ = try await client.begin()
    let waiting = try await client.begin(.post)
    let error = await #expect(throws: BywayError.self) { try await waiting.response() }
    #expect(error?.code == .refused)
    #expect(error?.processing == BywayError.Processing.none)
  }

  @Test("the number of waiting requests is limited")
  func waitingLimit() async throws {
    let client = try await HTTP1ClientFixture {
      $0.maximumConnections = 1
      $0.maximumWaiting = 2
    }
    for _ in 0..<3 { _ = try await client.begin() }
    let error = await #expect(throws: BywayError.self) { try await client.begin().response() }
    #expect(error?.code == .refused)
  }

  @Test("an origin that does not respond is abandoned together with its connection")
  func responseTimeout() async throws {
    let client = try await HTTP1ClientFixture { $0.responseTimeout = .milliseconds(50) }
    let response = try await client.begin()
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .timedOut)
    _ = try await client.origin().receiveToEnd()
  }

  @Test("an origin that pauses too long within a body of declared length is abandoned")
  func bodyTimeout() async throws {
    let client = try await HTTP1ClientFixture { $0.bodyTimeout = .milliseconds(50) }
    let response = try await client.begin()
    let origin = try await client.origin()
    try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .incompleteResponse)
    #expect(error?.message == "origin paused for too long in the middle of a response.")
    _ = try await origin.receiveToEnd()
  }

  @Test(
    "a body of unknown length may pause for any time, as events and followed logs do",
    arguments: [
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", "1\r\nb\r\n0\r\n\r\n"),
      ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\na", "b"),
    ])
  func pausingStream(_ begin: String, _ end: String) async throws {
    let client = try await HTTP1ClientFixture { $0.bodyTimeout = .milliseconds(50) }
    let response = try await client.begin()
    let origin = try await client.origin()
    try await origin.send(begin)
    try await response.body(until: "a")
    let start = NIODeadline.now()
    try await client.watch.until("200 ms passed") { NIODeadline.now() - start > .milliseconds(200) }
    try await origin.send(end)
    try await origin.endOutput()
    #expect(try await response.response().body == "ab")
  }

  @Test("a pause by a slow client is not attributed to the origin")
  func slowReader() async throws {
    let client = try await HTTP1ClientFixture { $0.bodyTimeout = .seconds(2) }
    let response = try await client.begin()
    try await response.setConsuming(false)
    let origin = try await client.origin()
    try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: \(4 << 20)\r\n\r\n")
    for _ in 0..<4 { origin.offer(ByteBuffer(repeating: 0x61, count: 1 << 20)) }
    _ = try await response.settledBodyBytes()
    let start = NIODeadline.now()
    try await client.watch.until("3 s passed") { NIODeadline.now() - start > .seconds(3) }
    try await response.setConsuming(true)
    #expect(try await response.response().body.utf8.count == 4 << 20)
  }

  @Test("an origin that stops reading an upload is abandoned together with its connection")
  func unreadUpload() async throws {
    let client = try await HTTP1ClientFixture { $0.responseTimeout = .milliseconds(200) }
    let response = try await client.begin(.post, isComplete: false)
    let origin = try await client.origin()
    _ = try await origin.receive(through: "\r\n\r\n")
    try await origin.setReading(false)
    // More bytes than the system's buffers accept.
    for _ in 0..<32 { try await response.send(String(repeating: "a", count: 1 << 20)) }
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .timedOut)
    try await origin.setReading(true)
    _ = try await origin.receiveToEnd()
  }

  @Test("an upload may pause for longer than the response timeout")
  func slowUpload() async throws {
    let client = try await HTTP1ClientFixture { $0.responseTimeout = .milliseconds(100) }
    let response = try await client.begin(.post, isComplete: false)
    try await response.send("a")
    let origin = try await client.origin()
    _ = try await origin.receive(through: "1\r\na\r\n")
    let start = NIODeadline.now()
    try await client.watch.until("300 ms passed") { NIODeadline.now() - start > .milliseconds(300) }
    try await response.send("b")
    _ = try await origin.receive(through: "1\r\nb\r\n")
    try await origin.send(HTTP1ClientFixture.answer)
    #expect(try await response.response().head.status == 204)
  }

  @Test("a request's own deadline applies in addition to the configured timeouts")
  func deadline() async throws {
    let client = try await HTTP1ClientFixture()
    let response = try await client.begin(deadline: .now() + .milliseconds(200))
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .timedOut)
  }

  @Test("an idle connection closes after a while, also one that was never used")
  func idleTimeout() async throws {
    let client = try await HTTP1ClientFixture(holdsFirstDial: true) { $0.idleTimeout = .milliseconds(50) }
    try await client.begin().cancel()
    try await client.releaseDial()
    #expect(try await client.origin().receiveToEnd() == "")
  }

  @Test("after shutdown a running exchange finishes, and its connection closes")
  func shutDown() async throws {
    let client = try await HTTP1ClientFixture()
    let response = try await client.begin()
    let origin = try await client.origin()
    _ = try await origin.receive(through: "\r\n\r\n")
    try await client.shutDown()
    try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    #expect(try await response.response().body == "ok")
    #expect(try await origin.receiveToEnd() == "")
  }
}
