import Byway
import BywayProxy
import HTTPTypes
import Logging
import TCPTransport
import Testing

/// A daemon's metrics, and its control socket where that is a port.
@Suite(.timeLimit(.minutes(1))) struct LocalServerTests {
  @Test("who asks by a foreign name is told by which to ask, and what else helps")
  func names() async throws {
    let transports = TransportRegistry([TCPTransport()])
    let server = try await LocalServer.start(
      on: transports.link("tcp://127.0.0.1:0"), advice: "set the option", logger: Logger(label: "test")
    ) { _ in Response(status: .ok) }
    let port = try #require(try server.address.hostPort().port)
    let client = BywayClient(try transports.link("tcp://127.0.0.1:\(port)?http=1.1"))
    #expect(try await client.get("http://localhost:\(port)/metrics").status == .ok)
    let refused = try await client.get("http://metrics.example:\(port)/metrics")
    #expect(refused.status == .misdirectedRequest)
    let text = String(buffer: try await refused.body.collect(upTo: 4096))
    #expect(text.contains("use one of these, or set the option") && !text.contains("--name"), "\(text)")
    await client.shutDown()
    await server.stop()
  }
}
