import Byway
import BywayGateway
import Foundation
import LineDevices
import LineEmulation
import Logging
import SerialTransport
import TestTools
import Testing

@testable import BywayProxy

/// What happens at a desk: a device's cable is plugged in, pulled out, and plugged in again.
@Suite("Adapters on emulated lines", .timeLimit(.minutes(1))) struct EmulatedAdapterTests {
  @Test("a device is found when its line comes, away when that goes, and back with it")
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
      var configuration = GatewayConfiguration(
        links: [try transports.link("serial:\(folder)/device")],
        origin: .handler { _ in Response(status: .ok, body: Body("the printer's page")) })
      configuration.claim = DeviceClaim(name: DeviceName("printer"), title: DeviceText("In the hall"))
      let gateway = try await Gateway.start(configuration)
      let device = DiscoveredDevice(
        name: DeviceName("printer") ?? .unnamed, title: DeviceText("In the hall"), link: "serial:\(ports)/adapter",
        state: .present)
      #expect(await devices.next() == [device])

      // Whoever is asked for it may use the line now.
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
}
