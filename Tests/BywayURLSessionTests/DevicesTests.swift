import Byway
import BywayDevices
import BywayGateway
import BywayURLSession
import Foundation
import FoundationNetworking
import LoopbackTransport
import NIOCore
import Testing

/// Several devices by name, used by a Swift program.
@Suite("Devices by name, for a client and for URLSession", .timeLimit(.minutes(1))) struct DevicesTests {
  @Test("the host of each URL selects the device")
  func names() async throws {
    let transports = TransportRegistry([LoopbackTransport()])
    var gateways: [Gateway] = []
    var devices: [Device] = []
    for name in ["printer", "camera"] {
      let link = try transports.link("loopback:\(UUID())")
      let origin = Origin.handler { _ in Response(status: .ok, body: Body("the \(name)")) }
      gateways.append(try await Gateway.start(GatewayConfiguration(links: [link], origin: origin)))
      devices.append(try Device(#require(DeviceName(name)), links: [link]))
    }
    let client = BywayClient(try DeviceDirectory(devices))
    for name in ["camera", "printer"] {
      let response = try await client.get("http://\(name).localhost/")
      #expect(String(buffer: try await response.body.collect(upTo: 100)) == "the \(name)")
      #expect(try await client.ping(#require(DeviceName(name))) > .zero)
    }
    for url in ["http://scanner.localhost/", "http://elsewhere.example/"] {
      let error = await #expect(throws: BywayError.self) { try await client.get(url) }
      #expect(error?.code == .misdirected, "\(url)")
    }

    let bridge = try Bridge([Route(Scope(hosts: ["*.localhost"]), over: client)])
    let session = URLSession(configuration: .byway(bridge))
    for name in ["camera", "printer"] {
      let (data, response) = try await session.data(from: #require(URL(string: "http://\(name).localhost:8080/x")))
      #expect(data.text == "the \(name)" && response.http?.statusCode == 200)
    }
    await client.shutDown()
    await #expect(throws: BywayError.self) { try await client.get("http://camera.localhost/") }
    for gateway in gateways { await gateway.stop(within: .zero) }
  }
}
