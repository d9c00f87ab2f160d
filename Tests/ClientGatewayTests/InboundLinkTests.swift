import Byway
import BywayGateway
import HTTPTypes
import LoopbackTransport
import TestTools
import Testing
import TransportTestSupport

/// A client whose gateway dials.
@Suite(.timeLimit(.minutes(1))) struct InboundLinkTests {
  @Test("each new gateway that dials is accepted, even while there are no requests")
  func next() async throws {
    let name = "inbound-\(UInt64.random(in: 0 ... .max))"
    let registry = TransportRegistry([LoopbackTransport()])
    let record = LogRecord()
    var configuration = BywayClient.Configuration.defaults
    configuration.logger = record.logger
    let client = BywayClient(try registry.link("loopback:\(name)?open=listen"), configuration: configuration)
    for count in 1...3 {
      let gateway = try await Gateway.start(
        GatewayConfiguration(
          links: [registry.link("loopback:\(name)?open=dial")], origin: .handler { _ in Response(status: .ok) }))
      if count == 1 { #expect(try await client.get("http://device/").status == .ok) }
      #expect(try await eventually { record.all.filter { $0.contains("Link open") }.count == count })
      await gateway.stop(within: .zero)
    }
    await client.shutDown()
  }
}
