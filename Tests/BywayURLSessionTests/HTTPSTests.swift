import Byway
import BywayGateway
import BywayTLS
import BywayURLSession
import Foundation
import FoundationNetworking
import LoopbackTransport
import TestPeers
import TestTools
import Testing

/// End-to-end https from URLSession through a link, to an nginx with a private authority. The app's client trusts the authority
/// for that host, and Foundation does not know it.
@Suite(.timeLimit(.minutes(2))) struct HTTPSTests {
  @Test("a site of a private authority is refused, and loaded if the client trusts the authority")
  func privateAuthority() async throws {
    let certificates = try await Certificates()
    let nginx = try await NginxServer(in: TemporaryFolder(), tls: certificates.server)
    let url = try #require(URL(string: "https://\(nginx.endpoint)/hello"))
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(UUID())")
    var gateway = GatewayConfiguration(links: [link], origin: .handler { _ in Response(status: .notFound) })
    gateway.allowed = [try AllowRule("\(nginx.endpoint)")]
    let running = try await Gateway.start(gateway)

    var policy = TLSPolicy()
    let refused = await #expect(throws: URLError.self) { try await fetch(url, over: link, policy) }
    #expect(refused?.code == .serverCertificateUntrusted, "\(refused as Any)")
    #expect((refused?.userInfo[NSUnderlyingErrorKey] as? BywayError)?.code == .originUntrusted)

    try policy.trust.add(certificatesIn: certificates.authority, for: "127.0.0.1")
    #expect(try await fetch(url, over: link, policy) == "hello, byway\n")
    await running.stop(within: .zero)
    await nginx.stop()
  }

  private func fetch(_ url: URL, over link: Link, _ policy: TLSPolicy) async throws -> String {
    var configuration = BywayClient.Configuration.defaults
    configuration.interceptors = [EndToEndTLS(policy)]
    let client = BywayClient(link, configuration: configuration)
    let bridge = try Bridge([Route(Scope(schemes: ["https"]), over: client)])
    let session = URLSession(configuration: .byway(bridge))
    defer { session.invalidateAndCancel() }
    do {
      let (data, _) = try await session.data(from: url)
      await client.shutDown()
      return data.text
    } catch {
      await client.shutDown()
      throw error
    }
  }
}
