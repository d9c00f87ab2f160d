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
    #expect(text.contains("use one of these, or set the option") && !text.contains("--name"), "\(text)")
    await client.shutDown()
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
      try await Task.sleep(for: .milliseconds(100))
      return ByteBuffer(string: "x")
    }
  }
}
