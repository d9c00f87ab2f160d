import Byway
import BywayProxy
import HTTPTypes
import Logging
import NIOCore
import NIOPosix
import Synchronization
import TCPTransport
import Testing

/// The server of a daemon's metrics, and of its control socket if that is a port.
@Suite(.timeLimit(.minutes(1))) struct LocalServerTests {
  @Test("a request with a foreign host gets 421 with the valid names and further advice")
  func names() async throws {
    let transports = TransportRegistry([TCPTransport()])
    let server = try await LocalServer.start(
      on: transports.link("tcp://127.0.0.1:0"), advice: "set the option", logger: Logger(label: "test")
    ) { _ in Response(status: .ok) }
    let port = try #require(try server.address.hostPort().port)
    let client = BywayClient(try transports.link("tcp://127.0.0.1:\(port)?http=1.1"))
    #expect(try await client.get("http://localhost:\(port)/metrics").status == .ok)
    let refused = try await client.get("http://metrics.example:\(port)/metrics")
    #expect(refused.status == .misdirectedRequest)
    let text = String(buffer: try await refused.body.collect(upTo: 4096))
    #expect(text.contains("use one of these, or set the option") && !text.contains("to its names"), "\(text)")
    await client.shutDown()
    await server.stop()
  }

  @Test("120 connections with half a head, opened again when closed, do not delay another client's request")
  func halfHeads() async throws {
    let transports = TransportRegistry([TCPTransport()])
    let server = try await LocalServer.start(
      on: transports.link("tcp://127.0.0.1:0"), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) { _ in Response(status: .ok) }
    let port = try #require(try server.address.hostPort().port)
    let crowd = HalfHeads(port)
    for _ in 0..<120 { try await crowd.open() }
    let client = BywayClient(try transports.link("tcp://127.0.0.1:\(port)?http=1.1"))
    let start = ContinuousClock.now
    #expect(try await client.get("http://localhost:\(port)/").status == .ok)
    let time = ContinuousClock.now - start
    // Heads time out after 5 s. Places are free before, because those that wait longest give way.
    #expect(time < .seconds(2))
    #expect(crowd.closedCount > 0)
    await client.shutDown()
    await crowd.stop()
    await server.stop()
  }

  @Test("a response is aborted if its client stops reading, and not if the client reads slowly")
  func unread() async throws {
    let transports = TransportRegistry([TCPTransport()])
    let made = MadeBytes()
    let server = try await LocalServer.start(
      on: transports.link("tcp://127.0.0.1:0"), patience: .milliseconds(600), logger: Logger(label: "test")
    ) { request in
      request.head.path == "/slow"
        ? Response(status: .ok, body: Body(Drops())) : Response(status: .ok, body: Body(made))
    }
    let port = try #require(try server.address.hostPort().port)
    async let slow = {
      let client = BywayClient(try transports.link("tcp://127.0.0.1:\(port)?http=1.1"))
      var count = 0
      for try await chunk in try await client.get("http://localhost:\(port)/slow").body { count += chunk.readableBytes }
      await client.shutDown()
      return count
    }()
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelOption(.autoRead, value: false)
      .connect(host: "127.0.0.1", port: port) { $0.eventLoop.makeSucceededFuture($0) }
    try await channel.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n"))
    try await made.ended.futureResult.get()
    let count = made.count
    #expect(count < 64 << 20)
    // Nothing more is produced and the connection has ended, so the rest can be read to its end.
    try await channel.setOption(.autoRead, value: true).get()
    try await channel.closeFuture.get()
    #expect(made.count == count)
    #expect(try await slow == 12)
    await server.stop()
  }
}

/// Clients that send half a head, again on a new connection when the server has closed theirs.
private final class HalfHeads: Sendable {
  private struct State {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var closedCount = 0
    var isStopped = false
  }

  private let port: Int
  private let state = Mutex(State())

  /// The number of connections that the server has closed.
  var closedCount: Int { state.withLock(\.closedCount) }

  init(_ port: Int) {
    self.port = port
  }

  func open() async throws {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .connect(host: "127.0.0.1", port: port) { $0.eventLoop.makeSucceededFuture($0) }
    let isStopped = state.withLock { state in
      state.channels[ObjectIdentifier(channel)] = channel
      return state.isStopped
    }
    channel.closeFuture.whenComplete { _ in
      let isStopped = self.state.withLock { state in
        state.channels[ObjectIdentifier(channel)] = nil
        if !state.isStopped { state.closedCount += 1 }
        return state.isStopped
      }
      if !isStopped { Task { try await self.open() } }
    }
    if isStopped { return channel.close(promise: nil) }
    // Fails if the connection has been closed already.
    try? await channel.writeAndFlush(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: loc"))
  }

  func stop() async {
    let channels = state.withLock { state in
      state.isStopped = true
      return state.channels.values.map(\.self)
    }
    for channel in channels { try? await channel.close() }
  }
}

/// An endless body that reports its release.
private final class MadeBytes: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  private let made = Mutex(0)
  let ended = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: Void.self)

  var count: Int { made.withLock { $0 } }

  func makeAsyncIterator() -> Iterator { Iterator(self) }

  final class Iterator: AsyncIteratorProtocol {
    private let bytes: MadeBytes

    init(_ bytes: MadeBytes) { self.bytes = bytes }

    deinit { bytes.ended.succeed() }

    func next() async throws -> ByteBuffer? {
      try Task.checkCancellation()
      bytes.made.withLock { $0 += 65_536 }
      return ByteBuffer(repeating: 0x61, count: 65_536)
    }
  }
}

/// A body with a byte every 100 ms.
private struct Drops: AsyncSequence, Sendable {
  func makeAsyncIterator() -> Iterator { Iterator() }

  struct Iterator: AsyncIteratorProtocol {
    var left = 12

    mutating func next() async throws -> ByteBuffer? {
      if left == 0 { return nil }
      left -= 1
      // Real time: the server's time limit has no other clock.
      try await Task.sleep(for: .milliseconds(100))
      return ByteBuffer(string: "x")
    }
  }
}
