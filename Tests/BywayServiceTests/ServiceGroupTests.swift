import Byway
import BywayGateway
import BywayProxy
import BywayService
import Logging
import LoopbackTransport
import ServiceLifecycle
import TestTools
import Testing
import UnixTransport

/// Gateways, proxies and clients as services of one process.
@Suite(.timeLimit(.minutes(1))) struct ServiceGroupTests {
  private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  private let folder: TemporaryFolder
  private let link: Link
  private let transports = TransportRegistry([LoopbackTransport(), UnixTransport()])

  init() throws {
    folder = try TemporaryFolder()
    link = try transports.link("loopback:service-\(UInt64.random(in: 0 ... .max))")
  }

  @Test("a graceful shutdown lets a running request finish and then ends proxy and gateway")
  func drains() async throws {
    let (gateway, arrived, hold) = try await heldGateway()
    let proxy = try await proxy()
    let client = BywayClient(try transports.link("\(proxy.address)?http=1.1"))
    let group = ServiceGroup(services: [gateway, proxy], logger: quiet)
    let running = Task { try await group.run() }
    let request = Task { try await client.get("http://localhost/").body.collect(upTo: 100) }
    await arrived.wait()
    await group.triggerGracefulShutdown()
    // The proxy has stopped to listen before its request ends.
    #expect(try await eventually { (try? await refused(proxy)) ?? false })
    hold.open()
    #expect(String(buffer: try await request.value) == "done")
    try await running.value
    #expect(await gateway.openLinks().isEmpty)
    await client.shutDown()
  }

  @Test("a cancelled group closes a running request and ends")
  func cancelled() async throws {
    let (gateway, arrived, hold) = try await heldGateway()
    let client = BywayClient(link)
    let group = ServiceGroup(services: [gateway], logger: quiet)
    let running = Task { try await group.run() }
    let request = Task { try await client.get("http://device/") }
    await arrived.wait()
    running.cancel()
    _ = await running.result
    #expect(await gateway.openLinks().isEmpty)
    await #expect(throws: BywayError.self) { try await request.value }
    hold.open()
    await client.shutDown()
  }

  @Test("a graceful shutdown with a maximum duration closes a request that takes longer")
  func impatient() async throws {
    let (gateway, arrived, hold) = try await heldGateway()
    let client = BywayClient(link)
    var configuration = ServiceGroupConfiguration(services: [.init(service: gateway)], logger: quiet)
    configuration.maximumGracefulShutdownDuration = .milliseconds(50)
    let group = ServiceGroup(configuration: configuration)
    let running = Task { try await group.run() }
    let request = Task { try await client.get("http://device/") }
    await arrived.wait()
    await group.triggerGracefulShutdown()
    _ = await running.result
    await #expect(throws: BywayError.self) { try await request.value }
    hold.open()
    await client.shutDown()
  }

  @Test("a client in a group shuts down with it and takes no more requests")
  func client() async throws {
    let gateway = try await gateway { _ in Response(status: .ok) }
    let client = BywayClient(link)
    let group = ServiceGroup(services: [client], logger: quiet)
    let running = Task { try await group.run() }
    #expect(try await client.get("http://device/").status == .ok)
    await group.triggerGracefulShutdown()
    try await running.value
    await #expect(throws: BywayError.self) { try await client.get("http://device/") }
    await gateway.stop(within: .zero)
  }

  // MARK: Support

  private func gateway(_ respond: @escaping @Sendable (Request) async throws -> Response) async throws -> Gateway {
    var configuration = GatewayConfiguration(links: [link], origin: .handler(respond))
    configuration.logger = quiet
    return try await Gateway.start(configuration)
  }

  /// A gateway that opens `arrived` at a request, and answers it when `hold` is open.
  private func heldGateway() async throws -> (Gateway, arrived: Gate, hold: Gate) {
    let (arrived, hold) = (Gate(), Gate())
    let gateway = try await gateway { _ in
      arrived.open()
      await hold.wait()
      return Response(status: .ok, body: Body("done"))
    }
    return (gateway, arrived, hold)
  }

  private func proxy() async throws -> Proxy {
    var configuration = ProxyConfiguration(link: link, listen: try transports.link("unix:\(folder["proxy"])"))
    configuration.logger = quiet
    return try await Proxy.start(configuration)
  }

  /// Whether the proxy accepts no more connections.
  private func refused(_ proxy: Proxy) async throws -> Bool {
    var configuration = BywayClient.Configuration.defaults
    (configuration.patience, configuration.timeout) = (.zero, .seconds(1))
    let link = try transports.link("\(proxy.address)?http=1.1")
    return await withBywayClient(link, configuration: configuration) { client in
      do { _ = try await client.get("http://localhost/") } catch {
        return (error as? BywayError)?.code == .linkUnavailable
      }
      return false
    }
  }
}

/// Lets tasks pass once it is open.
private struct Gate: Sendable {
  private let stream = AsyncStream.makeStream(of: Void.self)

  func open() { stream.continuation.finish() }

  func wait() async { for await _ in stream.stream {} }
}
