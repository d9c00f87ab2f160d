import Byway
import NIOCore
import NIOPosix
import Synchronization
import TestTools
import Testing
import TransportTestSupport

@testable import UnixTransport

/// Tests that a listener respects its connection limit.
@Suite struct ConnectionLimitTests {
  private final class Crowd: Sendable {
    private let accepted = Mutex<[any Channel]>([])
    private let asked = Mutex(0)

    var channels: [any Channel] { accepted.withLock { $0 } }
    /// The number of times that idle connections were asked to close.
    var requests: Int { asked.withLock { $0 } }

    func add(_ channel: any Channel) { accepted.withLock { $0.append(channel) } }
    func ask() { asked.withLock { $0 += 1 } }
  }

  @Test("a full listener repeatedly asks for idle connections to close, and accepts a client when one has")
  func full() async throws {
    try await withTemporaryFolder { folder in
      let crowd = Crowd()
      let limit = ConnectionLimit(2)
      limit.onFull { crowd.ask() }
      var context = LinkContext.test()
      context.connections = limit
      let address = try LinkAddress("unix:\(folder)/s")
      let listener = try await UnixTransport().listen(on: address, context: context)
      let accepting = Task { for try await channel in listener.channels { crowd.add(channel) } }
      var clients: [any Channel] = []
      for _ in 0..<4 { clients.append(try await UnixTransport().connect(to: address, context: .test())) }

      // Once when the last place was taken, and then after each pause.
      #expect(try await eventually { crowd.requests >= 3 })
      try #require(crowd.channels.count == 2)
      for gone in 0..<2 {
        try await crowd.channels[gone].close().get()
        #expect(try await eventually { crowd.channels.count == 3 + gone })
        #expect(!limit.hasRoom)
      }
      for channel in crowd.channels + clients { channel.close(promise: nil) }
      #expect(try await eventually { limit.hasRoom })
      await listener.close()
      try await accepting.value
    }
  }

  @Test("while a listener is full, 300 further clients can connect and wait")
  func burst() async throws {
    try await withTemporaryFolder { folder in
      var context = LinkContext.test()
      context.connections = ConnectionLimit(1)
      let listener = try await UnixTransport().listen(on: LinkAddress("unix:\(folder)/s"), context: context)
      // NIO connects without blocking, so connect() fails with EAGAIN if there is no room.
      let place = try SocketAddress(unixDomainSocketPath: "\(folder)/s")
      var clients: [any Channel] = []
      for _ in 0..<300 {
        clients.append(try await ClientBootstrap(group: context.group).connect(to: place).get())
      }
      for client in clients { client.close(promise: nil) }
      await listener.close()
    }
  }
}
