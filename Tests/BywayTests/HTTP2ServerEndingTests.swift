import HTTPWire
import Logging
import NIOCore
import TestWire
import Testing

@testable import Byway

/// Exchanges over a link that ends. The client's end is composed frame by frame (RFC 9113).
@Suite("HTTP/2 server: end of connections") struct HTTP2ServerEndingTests {
  /// Returns preface, SETTINGS, and a CONNECT or POST request whose body follows later.
  private static func request(_ method: String, path: Bool) -> [UInt8] {
    func literal(_ name: UInt8, _ value: String) -> [UInt8] { [name, UInt8(value.utf8.count)] + Array(value.utf8) }
    // Indexes of the static table: 1 authority, 2 method, 4 path, 6 scheme (RFC 7541, appendix A).
    let block = literal(2, method) + literal(1, "a:1") + (path ? literal(4, "/") + literal(6, "http") : [])
    return Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
      + [0, 0, UInt8(block.count), 1, 4, 0, 0, 0, 1] + block
  }

  @Test(
    "a link that is lost within a request cancels its exchange, with or without a response so far",
    arguments: ["CONNECT", "POST"], [true, false])
  func ends(_ method: String, isAnswered: Bool) async throws {
    let eventLoop = TestLoops.next()
    let handler = ScriptedHandler(on: eventLoop)
    let (client, channel) = try await WireEnd.pair(on: eventLoop) { $0.prepareForHandover() }
    let configuration = ServerConfiguration(
      hop: "hop", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let connection = try await eventLoop.submit {
      Unshared(HTTP2ServerConnection.start(on: channel, handler: handler, configuration: configuration))
    }.get()
    client.offer(ByteBuffer(bytes: Self.request(method, path: method == "POST")))
    let exchange = try await handler.exchange()
    if isAnswered { try await exchange.begin([":status": "200"]) }
    try await client.endOutput()
    #expect(try await exchange.cancelled().code == .linkLost)
    withExtendedLifetime(connection) {}
  }

  @Test("trailers count while they wait for a client's window, and are released with its connection")
  func waitingTrailers() async throws {
    let eventLoop = TestLoops.next()
    let handler = ScriptedHandler(on: eventLoop)
    let (client, channel) = try await WireEnd.pair(on: eventLoop) { $0.prepareForHandover() }
    var configuration = ServerConfiguration.test
    let budget = MemoryBudget(limit: 1 << 20)
    configuration.memory = budget
    let connection = try await eventLoop.submit { [configuration] in
      Unshared(HTTP2ServerConnection.start(on: channel, handler: handler, configuration: configuration))
    }.get()
    // SETTINGS_INITIAL_WINDOW_SIZE of zero.
    let settings: [UInt8] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]
    client.offer(ByteBuffer(bytes: Self.request("POST", path: true) + settings))
    let exchange = try await handler.exchange()
    try await exchange.begin([":status": "200"])
    try await exchange.send("x")
    try await exchange.end(trailers: ["x-end": String(repeating: "t", count: 40_000)])
    #expect(budget.held > 40_000)
    client.close()
    try await Watch(eventLoop).until("nothing is held") { budget.held == 0 }
    withExtendedLifetime(connection) {}
  }

  @Test("a draining server still serves a request that the client sent before it could know")
  func lastCall() async throws {
    let eventLoop = TestLoops.next()
    let handler = ScriptedHandler(on: eventLoop)
    let (client, channel) = try await WireEnd.pair(on: eventLoop) { $0.prepareForHandover() }
    let configuration = ServerConfiguration(
      hop: "hop", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let connection = try await eventLoop.submit {
      let connection = HTTP2ServerConnection.start(on: channel, handler: handler, configuration: configuration)
      connection.drain()
      return Unshared(connection)
    }.get()
    client.offer(ByteBuffer(bytes: Self.request("POST", path: true)))
    let exchange = try await handler.exchange()
    try await exchange.begin([":status": "200"])
    withExtendedLifetime(connection) {}
  }
}
