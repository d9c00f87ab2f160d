import Byway
import BywayDevices
import BywayGateway
import BywayLineDevices
import BywayLineEmulation
import Foundation
import Logging
import NIOCore
import SerialTransport
import TCPTransport
import TestTools
import Testing

@testable import BywayProxy

/// A device's cable is plugged in, pulled out, and plugged in again.
@Suite("Discovery on emulated serial lines", .timeLimit(.minutes(1))) struct EmulatedAdapterTests {
  /// Emulates a line from a device to an adapter in a folder of ports.
  private func adapter(in folder: String) throws -> (ports: String, TransportRegistry, PseudoTerminalLine) {
    let ports = "\(folder)/ports"
    try FileManager.default.createDirectory(atPath: ports, withIntermediateDirectories: false)
    let line = try PseudoTerminalLine(LineConfiguration(), paths: ("\(folder)/device", "\(ports)/adapter"))
    return (ports, TransportRegistry([SerialTransport(), TCPTransport()]), line)
  }

  @Test("a device is found when its line appears, is away when it disappears, and returns with it")
  func plugging() async throws {
    try await withTemporaryFolder { folder in
      let ports = "\(folder)/ports"
      try FileManager.default.createDirectory(atPath: ports, withIntermediateDirectories: false)
      let transports = TransportRegistry([SerialTransport()])
      let logger = Logger(label: "test")
      let discovery = Discovery(reserved: []) { await ClaimReader(transports, logger: logger).claim(over: $0) }
      var devices = discovery.devices.makeAsyncIterator()
      await discovery.watch(try WatchedPorts("serial:\(ports)", transports: transports).lists(logger: logger))
      #expect(await devices.next()?.isEmpty == true)

      let line = try PseudoTerminalLine(LineConfiguration(), paths: ("\(folder)/device", "\(ports)/adapter"))
      let gateway = try await gateway("printer", on: "serial:\(folder)/device", transports)
      let device = DiscoveredDevice(
        name: DeviceName("printer") ?? .unnamed, title: DeviceText("In the hall"), link: "serial:\(ports)/adapter",
        state: .present)
      // On a busy machine, the line is listed before the gateway has answered.
      var found = await devices.next()
      while let list = found, list.map(\.name) != [device.name] { found = await devices.next() }
      #expect(found == [device])

      // A user of the device may use the line now.
      let client = BywayClient(try transports.link(device.link))
      let page = try await client.get("http://printer/")
      #expect(try await String(buffer: page.body.collect(upTo: 100)) == "the printer's page")
      await client.shutDown()

      line.cut(.hangUp, at: .b)
      let away = await devices.next()?.first
      if case .away = away?.state {} else { Issue.record("it is \(String(describing: away))") }
      line.restore()
      #expect(await devices.next() == [device])
      await discovery.stop()
      await gateway.stop(within: .zero)
      line.close()
    }
  }

  @Test("a proxy lists plugged-in devices and serves them by name, except those configured under another name")
  func proxy() async throws {
    try await withTemporaryFolder { folder in
      let (ports, transports, line) = try adapter(in: folder)
      let gateway = try await gateway("printer", on: "serial:\(folder)/device", transports)
      func configuration(_ devices: [Device]) throws -> ProxyConfiguration {
        let directory = try DeviceDirectory(devices, patterns: [], main: [], suffixes: [], isOpen: true)
        var configuration = ProxyConfiguration(devices: directory, listen: try transports.link("tcp://127.0.0.1:0"))
        configuration.discovery = DiscoverySettings(
          [try WatchedPorts("serial:\(ports)", transports: transports)], transports: transports)
        configuration.patience = .zero
        return configuration
      }
      let plotter = try #require(DeviceName("plotter"))
      let proxy = try await Proxy.start(
        configuration([Device(plotter, links: [transports.link("serial:\(ports)/adapter")])]))
      let local = BywayClient(try transports.link("\(proxy.address)?http=1.1"))
      func page(_ url: String) async throws -> String {
        let page = try await local.get(url)
        return try await String(buffer: page.body.collect(upTo: 10_000))
      }
      func devices() async -> [String] { await proxy.devices().map { $0.name?.text ?? "" } }
      #expect(try await page("http://plotter.localhost/") == "the printer's page")
      #expect(await devices() == ["plotter"])

      try await proxy.reload(configuration([]), within: .zero)
      let isFound = try await eventually { await devices() == ["printer"] }
      #expect(isFound)
      #expect(try await page("http://printer.localhost/") == "the printer's page")
      #expect(
        try await page("http://byway.localhost/devices.json").contains(#""name":"printer","title":"In the hall""#))

      line.cut(.hangUp, at: .b)
      let isAway = try await eventually { try await page("http://byway.localhost/").contains("unplugged") }
      #expect(isAway)
      line.restore()
      let isBack = try await eventually { try await page("http://printer.localhost/") == "the printer's page" }
      #expect(isBack)
      await local.shutDown()
      await proxy.stop(within: .zero)
      await gateway.stop(within: .zero)
      line.close()
    }
  }

  @Test("a running transfer continues when the cable returns, because name queries do not use its line")
  func underWay() async throws {
    try await withTemporaryFolder { folder in
      let (ports, transports, line) = try adapter(in: folder)
      let (pieces, origin) = AsyncStream.makeStream(of: ByteBuffer.self)
      var inner = GatewayConfiguration(
        links: [try transports.link("serial:\(folder)/device")],
        origin: .handler { _ in Response(status: .ok, body: Body(pieces)) })
      inner.claim = DeviceClaim(name: DeviceName("printer"), title: nil)
      let gateway = try await Gateway.start(inner)
      let nothing = try DeviceDirectory([], patterns: [], main: [], suffixes: [], isOpen: true)
      var outer = ProxyConfiguration(devices: nothing, listen: try transports.link("tcp://127.0.0.1:0"))
      outer.discovery = DiscoverySettings(
        [try WatchedPorts("serial:\(ports)", transports: transports)], transports: transports)
      let proxy = try await Proxy.start(outer)
      func state() async -> DiscoveredDevice.State? { await proxy.devices().first?.discovery }
      #expect(try await eventually { await proxy.devices().first?.name == DeviceName("printer") })
      let local = BywayClient(try transports.link("\(proxy.address)?http=1.1"))
      let response = try await local.get("http://printer.localhost/")
      var body = response.body.makeAsyncIterator()
      var text = ""
      // The proxy itself has the port, so a query can use only its link.
      let (devices, reader) = (proxy.shared.devices, ClaimReader(transports, logger: Logger(label: "test")))
      let claim = await reader.claim(over: "serial:\(ports)/adapter") { link in
        try? await devices.eventLoop.submit { devices.openClient(over: [link]) }.get()
      }
      #expect(claim?.name == DeviceName("printer"))
      for number in 1...3 {
        origin.yield(ByteBuffer(string: "piece \(number)\n"))
        while !text.hasSuffix("piece \(number)\n") { text += String(buffer: try #require(try await body.next())) }
        line.cut(.hangUp, at: .b)
        #expect(try await eventually { if case .away = await state() { true } else { false } })
        line.restore()
        #expect(try await eventually { await state() == .present })
      }
      origin.yield(ByteBuffer(string: "end"))
      origin.finish()
      while let more = try await body.next() { text += String(buffer: more) }
      #expect(text == "piece 1\npiece 2\npiece 3\nend")
      await local.shutDown()
      await proxy.stop(within: .zero)
      await gateway.stop(within: .zero)
      line.close()
    }
  }

  private func gateway(_ name: String, on link: String, _ transports: TransportRegistry) async throws -> Gateway {
    var configuration = GatewayConfiguration(
      links: [try transports.link(link)],
      origin: .handler { _ in Response(status: .ok, body: Body("the \(name)'s page")) })
    configuration.claim = DeviceClaim(name: DeviceName(name), title: DeviceText("In the hall"))
    return try await Gateway.start(configuration)
  }
}
