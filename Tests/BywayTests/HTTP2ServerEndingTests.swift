import BywayHTTPWire
import NIOCore
import TestTools
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

  /// A served HTTP/2 connection with a raw client and a scripted handler.
  private struct Server {
    let client: WireEnd
    let handler: ScriptedHandler
    let eventLoop = TestLoops.next()
    private let connection: Unshared<HTTP2ServerConnection>

    init(
      memory: MemoryBudget = .shared, isDraining: Bool = false, configuration: ServerConfiguration = .test
    ) async throws {
      let handler = ScriptedHandler(on: eventLoop)
      let (client, channel) = try await WireEnd.pair(on: eventLoop) { $0.prepareForHandover() }
      (self.client, self.handler) = (client, handler)
      var configuration = configuration
      configuration.memory = memory
      connection = try await eventLoop.submit { [configuration] in
        let connection = HTTP2ServerConnection.start(on: channel, handler: handler, configuration: configuration)
        if isDraining { connection.drain() }
        return Unshared(connection)
      }.get()
    }

    /// Sends frames that begin a request, and returns its exchange.
    func exchange(_ bytes: [UInt8]) async throws -> ScriptedExchange {
      client.offer(ByteBuffer(bytes: bytes))
      return try await handler.exchange()
    }
  }

  @Test(
    "a link that is lost within a request cancels its exchange, with or without a response so far",
    arguments: ["CONNECT", "POST"], [true, false])
  func ends(_ method: String, isAnswered: Bool) async throws {
    let server = try await Server()
    let exchange = try await server.exchange(Self.request(method, path: method == "POST"))
    if isAnswered { try await exchange.begin([":status": "200"]) }
    try await server.client.endOutput()
    #expect(try await exchange.cancelled().code == .linkLost)
  }

  @Test("trailers that wait for a client's window count as memory, and are released with its connection")
  func waitingTrailers() async throws {
    let budget = MemoryBudget(limit: 1 << 20)
    let server = try await Server(memory: budget)
    // SETTINGS_INITIAL_WINDOW_SIZE of zero.
    let settings: [UInt8] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]
    let exchange = try await server.exchange(Self.request("POST", path: true) + settings)
    try await exchange.begin([":status": "200"])
    try await exchange.send("x")
    try await exchange.end(trailers: ["x-end": String(repeating: "t", count: 40_000)])
    #expect(budget.held > 40_000)
    server.client.close()
    try await Watch(server.eventLoop).until("nothing is held") { budget.held == 0 }
  }

  @Test("many clients that break the protocol are one line of the log")
  func flood() async throws {
    let log = LogRecord()
    var configuration = ServerConfiguration.test
    configuration.logger = log.logger
    for _ in 0..<20 {
      let server = try await Server(configuration: configuration)
      server.client.offer(ByteBuffer(string: "GET / HTTP/1.1\r\n\r\n"))
      _ = try await server.client.receiveToEnd()
    }
    #expect(log.messages.count { $0 == "Link broke HTTP/2" } == 1, "\(log.all)")
  }

  @Test("a draining server still serves a request that its client sent before it was told")
  func lastCall() async throws {
    let server = try await Server(isDraining: true)
    let exchange = try await server.exchange(Self.request("POST", path: true))
    try await exchange.begin([":status": "200"])
  }
}
