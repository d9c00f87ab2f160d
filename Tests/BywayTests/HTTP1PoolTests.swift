import Byway
import HTTPWire
import NIOCore
import TestWire
import Testing

/// How an upstream of HTTP/1.1 shares its connections, and how long it waits.
@Suite(.timeLimit(.minutes(1))) struct HTTP1PoolTests {
  @Test("beyond the limit requests wait for a connection, in their order")
  func limit() async throws {
    var configuration = HTTP1Upstream.Configuration.defaults
    configuration.maximumConnections = 1
    let client = try await HTTP1ClientFixture(configuration)
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

  @Test("waiting for a connection has an end, and the request was not acted on")
  func waitEnds() async throws {
    var configuration = HTTP1Upstream.Configuration.defaults
    configuration.maximumConnections = 1
    configuration.queueing = .milliseconds(200)
    let client = try await HTTP1ClientFixture(configuration)
    _ = try await client.begin()
    let waiting = try await client.begin(.post)
    let error = await #expect(throws: BywayError.self) { try await waiting.response() }
    #expect(error?.code == .timedOut)
    #expect(error?.processing == BywayError.Processing.none)
  }

  @Test("no more may wait than the limit says")
  func waitingLimit() async throws {
    var configuration = HTTP1Upstream.Configuration.defaults
    configuration.maximumConnections = 1
    configuration.maximumWaiting = 2
    let client = try await HTTP1ClientFixture(configuration)
    for _ in 0..<3 { _ = try await client.begin() }
    let error = await #expect(throws: BywayError.self) { try await client.begin().response() }
    #expect(error?.code == .refused)
  }

  @Test("an origin that does not answer is given up, and its connection with it")
  func responseTimeout() async throws {
    var configuration = HTTP1Upstream.Configuration.defaults
    configuration.responseTimeout = .milliseconds(50)
    let client = try await HTTP1ClientFixture(configuration)
    let response = try await client.begin()
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .timedOut)
    _ = try await client.origin().receiveToEnd()
  }

  @Test("an origin that pauses for too long within a body of declared length is given up")
  func bodyTimeout() async throws {
    var configuration = HTTP1Upstream.Configuration.defaults
    configuration.bodyTimeout = .milliseconds(50)
    let client = try await HTTP1ClientFixture(configuration)
    let response = try await client.begin()
    let origin = try await client.origin()
    try await origin.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .incompleteResponse)
    #expect(error?.message == "origin paused for too long in the middle of a response.")
    _ = try await origin.receiveToEnd()
  }

  @Test(
    "one whose end nobody knows may pause as it likes: events, a log that is followed",
    arguments: [
      ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", "1\r\nb\r\n0\r\n\r\n"),
      ("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\na", "b"),
    ])
  func pausingStream(_ begin: String, _ end: String) async throws {
    var configuration = HTTP1Upstream.Configuration.defaults
    configuration.bodyTimeout = .milliseconds(50)
    let client = try await HTTP1ClientFixture(configuration)
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

  @Test("a client that does not read is not a pause of the origin's")
  func slowReader() async throws {
    var configuration = HTTP1Upstream.Configuration.defaults
    configuration.bodyTimeout = .seconds(2)
    let client = try await HTTP1ClientFixture(configuration)
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

  @Test("an origin that stops reading an upload is given up, and its connection with it")
  func unreadUpload() async throws {
    var configuration = HTTP1Upstream.Configuration.defaults
    configuration.responseTimeout = .milliseconds(200)
    let client = try await HTTP1ClientFixture(configuration)
    let response = try await client.begin(.post, isComplete: false)
    let origin = try await client.origin()
    _ = try await origin.receive(through: "\r\n\r\n")
    try await origin.setReading(false)
    // More than the system's buffers take.
    for _ in 0..<32 { try await response.send(String(repeating: "a", count: 1 << 20)) }
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .timedOut)
    try await origin.setReading(true)
    _ = try await origin.receiveToEnd()
  }

  @Test("an upload may pause for longer than an origin may take to answer")
  func slowUpload() async throws {
    var configuration = HTTP1Upstream.Configuration.defaults
    configuration.responseTimeout = .milliseconds(100)
    let client = try await HTTP1ClientFixture(configuration)
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

  @Test("a request's own deadline counts, whatever the configuration allows")
  func deadline() async throws {
    let client = try await HTTP1ClientFixture()
    let response = try await client.begin(deadline: .now() + .milliseconds(200))
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .timedOut)
  }

  @Test("a connection that nobody uses is closed, also one that nobody has used yet")
  func idleTimeout() async throws {
    var configuration = HTTP1Upstream.Configuration.defaults
    configuration.idleTimeout = .milliseconds(50)
    let client = try await HTTP1ClientFixture(configuration)
    try await client.begin().cancel()
    #expect(try await client.origin().receiveToEnd() == "")
  }

  @Test("after the shutdown a running exchange ends in peace, and its connection closes")
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
