import Byway
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import NIOPosix
import Testing

@testable import BywayGateway

/// The limits of a gateway on each link.
@Suite struct GatewayRulesTests {
  private func streams(_ change: (inout GatewayConfiguration) -> Void = { _ in }) throws -> Int {
    var configuration = GatewayConfiguration(links: [], origin: .handler { _ in Response(status: .noContent) })
    configuration.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    change(&configuration)
    let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
    let rules = try GatewayRules(configuration, hop: "gateway", on: eventLoop)
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:rules")
    return rules.server(link, configuration.logger).http2.streams.maximumConcurrent
  }

  @Test("a link carries 1024 requests at once, and an origin gets as many connections") func usual() throws {
    #expect(try streams() == 1024)
    let configuration = GatewayConfiguration(links: [], origin: .handler { _ in Response(status: .noContent) })
    #expect(configuration.maximumOriginConnections == 1024)
  }

  @Test(
    "a link carries no more requests at once than the origin gets connections, but at least 16",
    arguments: [(2000, 1024), (300, 300), (16, 16), (1, 16)])
  func fewer(_ connections: Int, _ expected: Int) throws {
    #expect(try streams { $0.maximumOriginConnections = connections } == expected)
  }
}
