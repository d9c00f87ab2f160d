import Byway
import BywayGateway
import LoopbackTransport
import Synchronization
import TestTools
import Testing

@Suite(.timeLimit(.minutes(1))) struct WithBywayClientTests {
  private struct Stop: Error {}

  /// Counts its shutdowns, and whether the task of one was cancelled.
  private final class Closing: Interceptor {
    let counts = Mutex((all: 0, cancelled: 0))

    func intercept(_ request: Request, next: Next) async throws -> Response { try await next(request) }

    func shutDown() async {
      counts.withLock {
        $0.all += 1
        if Task.isCancelled { $0.cancelled += 1 }
      }
    }
  }

  private let name = "loopback:with-\(UInt64.random(in: 0 ... .max))"
  private let closing = Closing()

  @Test("withBywayClient returns the body's result and closes the link")
  func result() async throws {
    try await withGateway { gateway in
      var kept: BywayClient?
      let status = try await withBywayClient(
        link: name, transports: [LoopbackTransport()], configuration: configuration
      ) {
        kept = $0
        return try await $0.get("http://device/").status
      }
      #expect(status == .noContent)
      try await checkClosed(kept, gateway)
    }
  }

  @Test("withBywayClient closes the link when the body throws")
  func failure() async throws {
    try await withGateway { gateway in
      var kept: BywayClient?
      await #expect(throws: Stop.self) {
        try await withBywayClient(link: name, transports: [LoopbackTransport()], configuration: configuration) {
          kept = $0
          _ = try await $0.get("http://device/")
          throw Stop()
        }
      }
      try await checkClosed(kept, gateway)
    }
  }

  @Test("withBywayClient closes the link when its task is cancelled, and the shutdown itself is not cancelled")
  func cancellation() async throws {
    try await withGateway { gateway in
      let (open, opened) = AsyncStream.makeStream(of: BywayClient.self)
      let task = Task { [name, configuration] in
        try await withBywayClient(link: name, transports: [LoopbackTransport()], configuration: configuration) {
          _ = try await $0.get("http://device/")
          opened.yield($0)
          // Ends when the task is cancelled.
          for await _ in AsyncStream<Never>.makeStream().stream {}
          try Task.checkCancellation()
        }
      }
      var clients = open.makeAsyncIterator()
      let client = await clients.next()
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      try await checkClosed(client, gateway)
    }
  }

  @Test("withBywayClient throws without calling the body if no transport can open the address")
  func invalid() async throws {
    await #expect(throws: BywayError.self) {
      try await withBywayClient(link: "nonsuch:a", transports: [LoopbackTransport()]) { _ in
        Issue.record("The body was called.")
      }
    }
  }

  // MARK: Support

  private var configuration: BywayClient.Configuration {
    var configuration = BywayClient.Configuration.defaults
    configuration.interceptors = [closing]
    return configuration
  }

  private func withGateway(_ body: (Gateway) async throws -> Void) async throws {
    let link = try TransportRegistry([LoopbackTransport()]).link(name)
    let gateway = try await Gateway.start(
      GatewayConfiguration(links: [link], origin: .handler { _ in Response(status: .noContent) }))
    do { try await body(gateway) } catch {
      await gateway.stop(within: .zero)
      throw error
    }
    await gateway.stop(within: .zero)
  }

  private func checkClosed(_ client: BywayClient?, _ gateway: Gateway) async throws {
    #expect(closing.counts.withLock { $0.all } == 1)
    #expect(closing.counts.withLock { $0.cancelled } == 0)
    #expect(try await eventually { await gateway.openLinks().isEmpty })
    let client = try #require(client)
    await #expect(throws: BywayError.self) { try await client.get("http://device/") }
  }
}
