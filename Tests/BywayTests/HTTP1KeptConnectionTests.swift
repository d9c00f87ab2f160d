import Byway
import BywayHTTPWire
import NIOCore
import TestWire
import Testing

/// Requests sent while the origin closes a kept connection.
@Suite(.timeLimit(.minutes(1))) struct HTTP1KeptConnectionTests {
  /// Closes the kept connection under a request, which then arrives on a new one.
  private func expectRepetition(by client: HTTP1ClientFixture) async throws {
    let response = try await client.begin()
    let first = try await client.origin()
    _ = try await first.receive(through: "\r\n\r\n")
    first.close()
    try await client.answer(response, on: 1)
  }

  @Test("a request on a kept connection that is being closed is sent again on a new one")
  func closedJustThen() async throws {
    let client = try await HTTP1ClientFixture()
    try await client.warmUp()
    try await expectRepetition(by: client)
  }

  @Test("when all kept connections close at once, each request fails on at most one of them")
  func allClosed() async throws {
    let client = try await HTTP1ClientFixture()
    var running: [(origin: WireEnd, response: CollectedResponse)] = []
    for index in 0..<6 {
      let response = try await client.begin()
      let origin = try await client.origin(index)
      _ = try await origin.receive(through: "\r\n\r\n")
      running.append((origin, response))
    }
    for (origin, response) in running {
      try await origin.send(HTTP1ClientFixture.answer)
      _ = try await response.response()
    }
    let response = try await client.begin()
    // The most recently used connection.
    let origin = try await client.origin(5)
    _ = try await origin.receive(through: "\r\n\r\n")
    origin.close()
    try await client.answer(response, on: 6)
  }

  @Test("a connection opened but not used counts as a kept connection")
  func neverUsed() async throws {
    let client = try await HTTP1ClientFixture(holdsFirstDial: true)
    try await client.begin().cancel()
    try await client.releaseDial()
    try await expectRepetition(by: client)
  }

  @Test(
    "a request that cannot be repeated uses a new connection, which replaces a kept one",
    arguments: [("POST", true), ("PATCH", true), ("PUT", false)])
  func notRepeatable(_ method: String, _ isComplete: Bool) async throws {
    let client = try await HTTP1ClientFixture()
    try await client.warmUp()
    var request = FieldSection.get
    request.set(.method, method)
    let response = try await client.begin(request, isComplete: isComplete)
    #expect(try await client.origin(0).receiveToEnd() == "")
    if !isComplete { try await response.end() }
    try await client.answer(response, on: 1)
    // A repeatable request uses that connection.
    try await client.answer(client.begin(), on: 1)
    #expect(client.connectionCount == 2)
  }

  @Test("a request lost with a new connection is not sent again", arguments: ["GET", "POST"])
  func lost(_ method: String) async throws {
    let client = try await HTTP1ClientFixture()
    var request = FieldSection.get
    request.set(.method, method)
    let response = try await client.begin(request)
    let origin = try await client.origin()
    _ = try await origin.receive(through: "\r\n\r\n")
    origin.close()
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .originLost && error?.processing == .possible)
    #expect(client.connectionCount == 1)
  }

  @Test("at the limit a kept connection is replaced for the first waiting request, even if later ones could use it")
  func order() async throws {
    let client = try await HTTP1ClientFixture { $0.maximumConnections = 1 }
    let running = try await client.begin()
    let post = try await client.begin(.post)
    let get = try await client.begin()
    try await client.answer(running, on: 0)
    #expect(try await client.origin(0).receiveToEnd() == "")
    try await client.answer(post, on: 1)
    try await client.answer(get, on: 1)
    #expect(client.connectionCount == 2)
  }

  @Test("at the limit an idle connection is closed to make room for a new one")
  func limit() async throws {
    let client = try await HTTP1ClientFixture { $0.maximumConnections = 1 }
    try await client.warmUp()
    let response = try await client.begin(.post)
    #expect(try await client.origin(0).receiveToEnd() == "")
    try await client.answer(response, on: 1)
  }

  @Test("on a serial line all requests use the open connection")
  func line() async throws {
    let client = try await HTTP1ClientFixture { $0.reuse = .forAll }
    try await client.warmUp()
    for _ in 0..<3 { try await client.answer(client.begin(.post), on: 0) }
    #expect(client.connectionCount == 1)
  }
}
