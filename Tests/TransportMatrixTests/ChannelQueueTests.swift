import Byway
import NIOCore
import NIOEmbedded
import Testing

@Suite struct ChannelQueueTests {
  @Test("a channel queue returns channels in order, to early and late consumers")
  func order() async throws {
    let queue = ChannelQueue()
    let (first, second) = try (Self.channel(), Self.channel())
    queue.offer(first)
    async let taken = Self.take(2, from: queue)
    queue.offer(second)
    #expect(try await taken.map(ObjectIdentifier.init) == [ObjectIdentifier(first), ObjectIdentifier(second)])
  }

  @Test("a channel queue closes channels beyond its limit, and those left at its close")
  func bounded() throws {
    let queue = ChannelQueue(limit: 1)
    let (first, second, third) = try (Self.channel(), Self.channel(), Self.channel())
    #expect(queue.offer(first))
    #expect(!queue.offer(second))
    second.embeddedEventLoop.run()
    #expect(!second.isActive && first.isActive)
    queue.close()
    #expect(!queue.offer(third))
    third.embeddedEventLoop.run()
    first.embeddedEventLoop.run()
    #expect(!third.isActive && !first.isActive)
  }

  @Test("a channel queue drops closed channels and accepts others in their place")
  func dead() async throws {
    let queue = ChannelQueue(limit: 1)
    let (first, second) = try (Self.channel(), Self.channel())
    queue.offer(first)
    try await first.close().get()
    #expect(queue.offer(second))
    #expect(try await Self.take(1, from: queue).first === second)
  }

  @Test("a channel queue returns its remaining channels after its end, then throws the reason")
  func ends() async throws {
    let queue = ChannelQueue()
    queue.offer(try Self.channel())
    queue.end(throwing: BywayError(.linkLost, "gone"))
    queue.end()
    var channels = queue.channels.makeAsyncIterator()
    #expect(try await channels.next() != nil)
    await #expect(throws: BywayError.self) { try await channels.next() }
  }

  @Test("a channel queue releases a consumer that is cancelled or has nothing to wait for")
  func cancelled() async throws {
    let queue = ChannelQueue()
    let consumer = Task { try await Self.take(1, from: queue) }
    consumer.cancel()
    #expect(try await consumer.value.isEmpty)
    queue.close()
    #expect(try await Self.take(1, from: queue).isEmpty)
  }

  private static func channel() throws -> EmbeddedChannel {
    let channel = EmbeddedChannel()
    try channel.connect(to: SocketAddress(unixDomainSocketPath: "/x")).wait()
    return channel
  }

  private static func take(_ count: Int, from queue: ChannelQueue) async throws -> [any Channel] {
    var taken: [any Channel] = []
    for try await channel in queue.channels {
      taken.append(channel)
      if taken.count == count { break }
    }
    return taken
  }
}
