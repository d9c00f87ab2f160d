import Byway
import BywayGateway
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import TCPTransport
import TestPeers
import TestTools
import Testing

@testable import BywayProxy

/// Gateways that dial a proxy, which is told nothing of them.
@Suite("A hub that devices dial", .timeLimit(.minutes(1))) struct HubTests {
  private let transports = TransportRegistry([LoopbackTransport(), TCPTransport(), TLSTransport()])
  private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  private func proxy(
    hubs: [String], devices: [Device] = [], sharing: GatewaySharing = .newest
  ) throws -> ProxyConfiguration {
    var configuration = ProxyConfiguration(
      devices: try DeviceDirectory(
        devices, patterns: [], main: [], suffixes: ["devices.example"], isOpen: false,
        hubs: hubs.map { try transports.link($0) }, sharing: sharing),
      listen: try transports.link("tcp://127.0.0.1:0"))
    configuration.logger = quiet
    configuration.patience = .seconds(1)
    return configuration
  }

  private func gateway(_ name: String, at link: String, title: String? = nil) async throws -> Gateway {
    var configuration = GatewayConfiguration(
      links: [try transports.link(link)], origin: .handler { _ in Response(status: .ok, body: Body("the \(name)")) })
    configuration.claim = DeviceClaim(name: DeviceName(name), title: title.flatMap { DeviceText($0) })
    configuration.logger = quiet
    return try await Gateway.start(configuration)
  }

  private func get(_ name: String, of proxy: Proxy, path: String = "/") async throws -> String {
    let client = BywayClient(try transports.link("\(proxy.address)?http=1.1"))
    let response = try await client.get("http://\(name).localhost\(path)")
    let text = "\(response.status.code) \(String(buffer: try await response.body.collect(upTo: 1 << 16)))"
    await client.shutDown()
    return text
  }

  @Test("who dials is a device by the name that it says, with its title, for as long as it is there")
  func comingAndGoing() async throws {
    let hub = "loopback:hub-\(UInt64.random(in: 0 ... .max))"
    let proxy = try await Proxy.start(proxy(hubs: ["\(hub)?open=listen"]))
    #expect(try await get("printer", of: proxy).hasPrefix("421"))
    let printer = try await gateway("printer", at: "\(hub)?open=dial", title: "In the hall")
    let camera = try await gateway("camera", at: "\(hub)?open=dial")
    for name in ["printer", "camera"] {
      #expect(try await eventually { try await get(name, of: proxy) == "200 the \(name)" })
    }
    let list = await proxy.devices()
    #expect(list.map(\.name?.text) == ["camera", "printer"] && list.map(\.title) == [nil, "In the hall"])
    await camera.stop(within: .zero)
    #expect(try await eventually { try await get("camera", of: proxy).hasPrefix("503") })
    #expect(try await get("printer", of: proxy) == "200 the printer")
    let again = try await gateway("camera", at: "\(hub)?open=dial")
    #expect(try await eventually { try await get("camera", of: proxy) == "200 the camera" })
    await proxy.stop(within: .zero)
    for gateway in [printer, again] { await gateway.stop(within: .zero) }
  }

  @Test("a name that the configuration gives to another is not taken")
  func configured() async throws {
    let hub = "loopback:hub-\(UInt64.random(in: 0 ... .max))"
    let own = try await gateway("printer", at: "\(hub)-own")
    let device = try Device(#require(DeviceName("printer")), roads: [transports.link("\(hub)-own")])
    let proxy = try await Proxy.start(proxy(hubs: ["\(hub)?open=listen"], devices: [device]))
    let thief = try await gateway("printer", at: "\(hub)?open=dial")
    let camera = try await gateway("camera", at: "\(hub)?open=dial")
    #expect(try await eventually { try await get("camera", of: proxy) == "200 the camera" })
    #expect(try await get("printer", of: proxy) == "200 the printer")
    #expect(await own.openLinks().count == 1)
    #expect(await proxy.devices().map(\.name?.text) == ["printer", "camera"])
    await proxy.stop(within: .zero)
    for gateway in [own, thief, camera] { await gateway.stop(within: .zero) }
  }

  @Test("a reload may take a hub away, and then its devices are gone")
  func reload() async throws {
    let hub = "loopback:hub-\(UInt64.random(in: 0 ... .max))"
    let proxy = try await Proxy.start(proxy(hubs: ["\(hub)?open=listen"]))
    let printer = try await gateway("printer", at: "\(hub)?open=dial")
    #expect(try await eventually { try await get("printer", of: proxy) == "200 the printer" })
    let link = await printer.openLinks().first?.since
    try await proxy.reload(self.proxy(hubs: ["\(hub)?open=listen", "\(hub)-2?open=listen"]), within: .seconds(1))
    #expect(try await get("printer", of: proxy) == "200 the printer")
    #expect(await printer.openLinks().first?.since == link)
    try await proxy.reload(self.proxy(hubs: ["\(hub)-2?open=listen"]), within: .seconds(1))
    try await proxy.reload(self.proxy(hubs: [], devices: [device("other")]), within: .seconds(1))
    #expect(try await get("printer", of: proxy).hasPrefix("421"))
    #expect(try await eventually { await printer.openLinks().isEmpty })
    await proxy.stop(within: .zero)
    await printer.stop(within: .zero)
  }

  private func device(_ name: String) throws -> Device {
    try Device(#require(DeviceName(name)), roads: [transports.link("loopback:nobody-\(name)")])
  }

  @Test("over TLS a name must be in the certificate of who says it")
  func certificates() async throws {
    let certificates = try await Certificates()
    let port = try Endpoint.freePort()
    let hub = "tls://127.0.0.1:\(port)?\(certificates.server.options)&ca=\(certificates.authority)"
    let proxy = try await Proxy.start(proxy(hubs: ["\(hub)&open=listen"]))
    func dial(_ name: String, certified: String) async throws -> Gateway {
      let identity = try await certificates.issue("\(name)-\(certified)", names: "DNS:\(certified)")
      let link = "tls://127.0.0.1:\(port)?\(identity.options)&ca=\(certificates.authority)"
      return try await gateway(name, at: "\(link)&open=dial")
    }
    let liar = try await dial("camera", certified: "printer")
    let printer = try await dial("printer", certified: "printer")
    let scanner = try await dial("scanner", certified: "scanner.devices.example")
    for name in ["printer", "scanner"] {
      #expect(try await eventually { try await get(name, of: proxy) == "200 the \(name)" })
    }
    #expect(try await get("camera", of: proxy).hasPrefix("421"))
    await proxy.stop(within: .zero)
    for gateway in [liar, printer, scanner] { await gateway.stop(within: .zero) }
  }
}
