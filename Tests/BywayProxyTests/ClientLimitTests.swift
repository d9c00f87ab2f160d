import Byway
import Logging
import NIOPosix
import TCPTransport
import Testing
import UnixTransport

@testable import BywayProxy

/// The limits of a proxy for each client.
@Suite struct ClientLimitTests {
  @Test("the running requests of a client's connection may have 512 KiB of heads") func heads() async throws {
    let transports = TransportRegistry([TCPTransport(), UnixTransport()])
    var configuration = ProxyConfiguration(
      link: try transports.link("unix:/nowhere"), listen: try transports.link("tcp://127.0.0.1:0"))
    configuration.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let state = try ProxyState(configuration, on: MultiThreadedEventLoopGroup.singleton.any())
    #expect(state.server(configuration.listen, configuration.logger).http2.streams.heldHeaderSize == 512 * 1024)
    await state.shutDown()
  }
}
