import Byway
import BywayGateway
import BywayProxy
import HTTPTypes
import NIOCore
import TestTools
import Testing

/// Reload of a proxy while it serves.
@Suite("Reload of a proxy", .timeLimit(.minutes(1)), .cleansUp) struct ProxyReloadTests {
  /// Returns the fixture's initial configuration with changes.
  private func configuration(_ fixture: ProxyFixture, link: String? = nil, listen: String = "tcp://127.0.0.1:0")
    async throws
    -> ProxyConfiguration
  {
    let transports = fixture.transports
    let own = try await #require(fixture.proxy.linkAddress).text
    return ProxyConfiguration(link: try transports.link(link ?? own), listen: try transports.link(listen))
  }

  @Test("after a reload an open connection uses the new names and the same link")
  func rules() async throws {
    let fixture = try await ProxyFixture()
    let open = try await fixture.wire()
    func status(of host: String) async throws -> String {
      try await open.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      let head = try await open.receive(through: "\r\n\r\n")
      let length = head.lowercased().split(separator: "content-length: ").last.flatMap {
        Int($0.prefix { $0.isNumber })
      }
      _ = try await open.receive(count: length ?? 0)
      return String(head.dropFirst(9).prefix(3))
    }
    let port = try fixture.port
    #expect(try await status(of: "localhost:\(port)") == "200")
    let link = try #require(await fixture.gateway?.openLinks().first)
    #expect(try await status(of: "printer.example:\(port)") == "421")
    var next = try await configuration(fixture)
    next.names = ["printer.example"]
    try await fixture.proxy.reload(next, within: .seconds(1))
    #expect(try fixture.port == port)
    #expect(try await status(of: "printer.example:\(port)") == "200")
    #expect(await fixture.gateway?.openLinks().map(\.since) == [link.since])
  }

  @Test("after a reload with another link, running exchanges finish on the old link, which then closes")
  func link() async throws {
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let fixture = try await ProxyFixture(respond: { _ in Response(status: .ok, body: Body(chunks)) })
    let other = try await ProxyFixture(respond: { _ in Response(status: .ok, body: Body("other")) })
    let client = try fixture.http2()
    let running = try await client.get("http://localhost/")
    try await fixture.proxy.reload(configuration(fixture, link: other.proxy.linkAddress?.text), within: .seconds(1))
    #expect(await fixture.proxy.linkAddress == other.proxy.linkAddress)
    #expect(String(buffer: try await client.get("http://localhost/").body.collect(upTo: 10)) == "other")
    #expect(await fixture.gateway?.openLinks().count == 1)
    sender.yield(ByteBuffer(string: "end"))
    sender.finish()
    #expect(String(buffer: try await running.body.collect(upTo: 10)) == "end")
    #expect(try await eventually { await fixture.gateway?.openLinks().isEmpty == true })
    await client.shutDown()
  }

  @Test("an address that cannot be listened on leaves the proxy unchanged")
  func refused() async throws {
    let fixture = try await ProxyFixture()
    let other = try await ProxyFixture(respond: nil)
    let before = await fixture.proxy.linkAddress
    await #expect(throws: BywayError.self) {
      try await fixture.proxy.reload(
        configuration(fixture, link: other.proxy.linkAddress?.text, listen: other.proxy.address.text), within: .zero)
    }
    #expect(await fixture.proxy.linkAddress == before)
    #expect(try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost").hasPrefix("HTTP/1.1 200"))
  }
}
