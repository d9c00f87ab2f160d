import Logging
import NIOCore
import NIOPosix
import Synchronization
import TestTools
import Testing

@testable import Byway

/// Links that the remote end dials.
@Suite("Inbound links", .timeLimit(.minutes(1))) struct InboundLinkTests {
  /// A transport whose listener closes when the test lets it.
  private final class SlowTransport: Transport, Listener {
    let scheme = "slow"
    let isClosing = Mutex(false)
    /// Whether the second caller of close has returned.
    let hasReturned = Mutex(false)
    private let (gate, opening) = AsyncStream.makeStream(of: Void.self)

    func check(_ address: LinkAddress) {}

    func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
      throw BywayError(.unsupported, "This transport only listens.")
    }

    func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener { self }

    let address: LinkAddress
    let channels = AsyncThrowingStream<any Channel, any Error> { $0.finish() }

    init() throws { address = try LinkAddress("slow:here") }

    func close() async {
      isClosing.withLock { $0 = true }
      for await _ in gate {}
    }

    func letClose() { opening.finish() }
  }

  @Test("each caller of close waits until the listener has closed, so that no socket file is left at exit")
  func closedTwice() async throws {
    let transport = try SlowTransport()
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let link = InboundLink(try TransportRegistry([transport]).link("slow:here"), logger: logger)
    try await link.listen(on: loop)
    let first = Task { await link.close() }
    #expect(try await eventually { transport.isClosing.withLock(\.self) })
    let second = Task {
      await link.close()
      transport.hasReturned.withLock { $0 = true }
    }
    // A second caller that does not wait returns at once.
    #expect(try await !eventually(within: .milliseconds(200)) { transport.hasReturned.withLock(\.self) })
    transport.letClose()
    await first.value
    await second.value
  }
}
