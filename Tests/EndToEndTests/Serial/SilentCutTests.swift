import BywayLineEmulation
import BywayLineLayer
import Logging
import NIOCore
import NIOPosix
import SerialTransport
import Synchronization
import Testing

@testable import Byway

extension SerialEndToEnd {
  /// Sessions between pseudo-terminals, with a tenth of the usual times.
  @Suite("Long cuts of a serial line") struct SilentCutTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// A session over an emulated line, of which one end sends.
    private struct Session {
      let line: SerialLine
      let listener: any Listener
      let reader: any Channel
      let received: Received
      let writer: any Channel

      init() async throws {
        line = try SerialLine(LineConfiguration(baud: 115_200))
        var times = LineLayerConfiguration.defaults
        times.keepAlive /= 10
        times.patience /= 10
        times.silence /= 10
        times.grace /= 10
        let serial = LineTransport(
          base: SerialTransport(), properties: LineProperties(bytesPerSecond: 11_520), times: times)
        let context = LinkContext(
          group: MultiThreadedEventLoopGroup.singleton.any(), logger: SilentCutTests.quiet,
          deadline: .now() + .seconds(10))
        listener = try await serial.listen(on: LinkAddress(line.far), context: context)
        reader = try await serial.connect(to: LinkAddress(line.near), context: context)
        let received = Received()
        self.received = received
        try await reader.eventLoop.submit { [reader] in
          try reader.pipeline.syncOperations.addHandler(Receiver(received))
          reader.startReading()
        }.get()
        // The listener learns of the session with its first bytes.
        try await reader.writeAndFlush(ByteBuffer(string: "x")).get()
        var channels = listener.channels.makeAsyncIterator()
        writer = try #require(try await channels.next())
      }

      func stop() async {
        reader.close(promise: nil)
        writer.close(promise: nil)
        try? await reader.closeFuture.get()
        try? await writer.closeFuture.get()
        await listener.close()
      }
    }

    /// The bytes that have arrived.
    private final class Received: Sendable {
      private let bytes = Mutex(ByteBuffer())
      var all: ByteBuffer { bytes.withLock(\.self) }
      var count: Int { bytes.withLock(\.readableBytes) }
      func add(_ piece: ByteBuffer) { _ = bytes.withLock { $0.writeImmutableBuffer(piece) } }
    }

    private final class Receiver: ChannelInboundHandler {
      typealias InboundIn = ByteBuffer

      private let received: Received

      init(_ received: Received) {
        self.received = received
      }

      func channelRead(context: ChannelHandlerContext, data: NIOAny) { received.add(unwrapInboundIn(data)) }
    }

    private static let content = ByteBuffer(
      bytes: (0..<30_000).map { UInt8(truncatingIfNeeded: $0 &* 131 ^ ($0 >> 8)) })

    @Test(
      "a session survives a silent cut that lasts for two thirds of its grace period",
      arguments: [Cut.Kind.lose, .stall])
    func survived(_ kind: Cut.Kind) async throws {
      let session = try await Session()
      session.writer.writeAndFlush(Self.content, promise: nil)
      try await EndToEnd.waitUntil("the transfer has begun", within: .seconds(10)) { session.received.count > 5000 }
      session.line.cut(kind)
      // Real time: the length of the cut is what is tested.
      try await Task.sleep(for: .seconds(2))
      #expect(session.received.count < Self.content.readableBytes && session.reader.isActive)
      session.line.restore()
      try await EndToEnd.waitUntil("the rest has arrived", within: .seconds(20)) {
        session.received.count >= Self.content.readableBytes
      }
      #expect(session.received.all == Self.content)
      await session.stop()
    }

    @Test("a session ends at both ends after a silent cut that outlasts its grace period")
    func ended() async throws {
      let session = try await Session()
      session.writer.writeAndFlush(Self.content, promise: nil)
      try await EndToEnd.waitUntil("the transfer has begun", within: .seconds(10)) { session.received.count > 5000 }
      session.line.cut(.lose)
      try await EndToEnd.waitUntil("both ends have given up", within: .seconds(15)) {
        !session.reader.isActive && !session.writer.isActive
      }
      await session.stop()
    }
  }
}
