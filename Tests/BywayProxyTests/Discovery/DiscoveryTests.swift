import Byway
import BywayDevices
import BywayGateway
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import BywayProxy

@Suite("Discovery of devices", .timeLimit(.minutes(1))) struct DiscoveryTests {
  private let transports = TransportRegistry([LoopbackTransport()])
  private let address = "loopback:discovery-\(UInt64.random(in: 0 ... .max))"

  private func port(_ address: String, unavailableReason: String? = nil) -> LinkPort {
    LinkPort(address: address, device: "/dev/\(address)", name: "Adapter", unavailableReason: unavailableReason)
  }

  private func gateway(_ claim: DeviceClaim?, _ origin: Origin = .handler { _ in Response(status: .notFound) })
    async throws
    -> Gateway
  {
    var configuration = GatewayConfiguration(links: [try transports.link(address)], origin: origin)
    configuration.claim = claim
    return try await Gateway.start(configuration)
  }

  private var reader: ClaimReader { ClaimReader(transports, logger: Logger(label: "test")) }

  @Test("a plugged-in gateway is listed under its own name, and is away when unplugged")
  func comesAndGoes() async throws {
    let gateway = try await gateway(DeviceClaim(name: DeviceName("printer"), title: DeviceText("In the hall")))
    let discovery = Discovery(reserved: []) { [reader] in await reader.claim(over: $0) }
    var devices = discovery.devices.makeAsyncIterator()
    let (lists, plug) = AsyncStream.makeStream(of: [LinkPort].self)
    await discovery.watch(lists)
    plug.yield([])
    #expect(await devices.next()?.isEmpty == true)
    plug.yield([port(address)])
    let device = DiscoveredDevice(
      name: DeviceName("printer") ?? .unnamed, title: DeviceText("In the hall"), link: address, state: .present)
    // On a busy machine, the port is listed before the gateway has answered.
    var found = await devices.next()
    while let list = found, list.map(\.name) != [device.name] { found = await devices.next() }
    #expect(found == [device])
    // The link is free again.
    let client = try BywayClient(link: address, transports: [LoopbackTransport()])
    let answer = try await client.get("http://device/")
    #expect(answer.status == .notFound)
    await client.shutDown()
    plug.yield([])
    let away = await devices.next()?.first
    if case .away = away?.state {} else { Issue.record("it is \(String(describing: away))") }
    await discovery.stop()
    #expect(await devices.next() == nil)
    await gateway.stop(within: .zero)
  }

  @Test("a peer without a name is named after its adapter, and a configured name is not reused")
  func adapter() async throws {
    let gateway = try await gateway(DeviceClaim(name: DeviceName("printer")))
    let discovery = Discovery(reserved: Set([DeviceName("printer")].compactMap { $0 })) { [reader] in
      await reader.claim(over: $0)
    }
    var devices = discovery.devices.makeAsyncIterator()
    await discovery.watch(AsyncStream { $0.yield([self.port(address)]) })
    while let list = await devices.next() {
      guard let device = list.first else { continue }
      #expect(device.name.text == "adapter")
      break
    }
    await discovery.reserve([])
    #expect(await devices.next()?.first?.name.text == "printer")
    await discovery.stop()
    await gateway.stop(within: .zero)
  }

  @Test(
    "an invalid answer to the name query gives no name",
    arguments: [
      (200, "<!doctype html>"), (404, #"{"name":"printer"}"#), (302, #"{"name":"printer"}"#),
      (200, String(repeating: " ", count: 17 << 10)), (500, ""),
    ])
  func noClaim(_ status: Int, _ body: String) async throws {
    let gateway = try await gateway(nil, .handler { _ in Response(status: .init(code: status), body: Body(body)) })
    #expect(await reader.claim(over: address) == nil)
    await gateway.stop(within: .zero)
  }

  @Test("an endless answer to the name query is abandoned after five seconds")
  func endless() async throws {
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let gateway = try await gateway(nil, .handler { _ in Response(status: .ok, body: Body(chunks)) })
    sender.yield(ByteBuffer(string: "{"))
    let start = ContinuousClock.now
    #expect(await reader.claim(over: address) == nil)
    #expect((.seconds(4)...(.seconds(12))).contains(ContinuousClock.now - start))
    sender.finish()
    await gateway.stop(within: .zero)
  }

  @Test(
    "a link without a peer, or an invalid link, gives no name", arguments: ["loopback:nobody", "serial", "x:y"])
  func nobody(_ link: String) async {
    #expect(await reader.claim(over: link) == nil)
  }

  @Test("stopping the discovery waits for running queries, and reports nothing afterwards")
  func stops() async throws {
    let asked = AsyncStream.makeStream(of: Void.self)
    let ended = Mutex(0)
    let discovery = Discovery(reserved: []) { _ in
      asked.continuation.yield()
      try? await untilCancelled()
      ended.withLock { $0 += 1 }
      return nil
    }
    await discovery.watch(AsyncStream { $0.yield([self.port("loopback:a"), self.port("loopback:b")]) })
    var questions = asked.stream.makeAsyncIterator()
    _ = await questions.next()
    _ = await questions.next()
    await discovery.stop()
    #expect(ended.withLock(\.self) == 2)
  }
}
