import Byway
import BywayGateway
import HTTPTypes
import Logging
import LoopbackTransport
import TestPeers
import TestTools
import Testing

/// A gateway behind an Apache proxy.
@Suite(.serialized, .timeLimit(.minutes(2))) struct UpstreamProxyTests {
  private static let login = "Mufasa:Circle%20of%20Life@"

  private func withGateway(
    to origin: String, through proxy: String, _ body: (BywayClient) async throws -> Void
  ) async throws {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:way-out-\(UInt64.random(in: 0 ... .max))")
    var configuration = GatewayConfiguration(links: [link], origin: try Origin(origin))
    configuration.upstreamProxy = try UpstreamProxy(proxy)
    configuration.logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let gateway = try await Gateway.start(configuration)
    let client = BywayClient(link)
    try await body(client)
    await client.shutDown()
    await gateway.stop(within: .zero)
  }

  @Test("an http request through an upstream proxy has absolute form and the login", arguments: [true, false])
  func absoluteForm(_ asksForLogin: Bool) async throws {
    let proxy = try await ApacheProxy(asksForLogin: asksForLogin)
    let origin = try await OriginServer()
    try await withGateway(to: origin.url, through: "http://\(asksForLogin ? Self.login : "")\(proxy.endpoint)") {
      client in
      for _ in 0..<2 {
        let text = try await client.get("http://device/").text
        #expect(text == "hello, byway\n")
      }
    }
    // Apache writes a log line after its response.
    let expected = Array(repeating: "GET \(origin.url)/ HTTP/1.1", count: 2)
    #expect(try await eventually { (try? proxy.requests()) == expected })
    await proxy.stop()
    await origin.stop()
  }

  @Test("an https request through an upstream proxy uses CONNECT") func tunnel() async throws {
    let ca = try await Certificates()
    let proxy = try await ApacheProxy(asksForLogin: true)
    let nginx = try await NginxServer(in: TemporaryFolder(), tls: ca.server)
    let origin = "https://\(nginx.endpoint)?ca=\(ca.authority)"
    try await withGateway(to: origin, through: "http://\(Self.login)\(proxy.endpoint)") { client in
      let text = try await client.get("http://device/hello").text
      #expect(text == "hello, byway\n")
    }
    // Apache writes the log line when the tunnel has ended.
    #expect(try await eventually { (try? proxy.requests()) == ["CONNECT \(nginx.endpoint) HTTP/1.1"] })
    await proxy.stop()
    await nginx.stop()
  }

  @Test("a missing or wrong login of the upstream proxy is reported without the password", arguments: [true, false])
  func refused(_ isHTTPS: Bool) async throws {
    let proxy = try await ApacheProxy(asksForLogin: true)
    let origin = "\(isHTTPS ? "https" : "http")://127.0.0.1:9"
    for (login, words) in [("", "wants a login"), ("Mufasa:hunter2@", "refuses the login")] {
      try await withGateway(to: origin, through: "http://\(login)\(proxy.endpoint)") { client in
        let response = try await client.get("http://device/")
        let text = try await response.text
        #expect(response.status == .forbidden)
        #expect(text.contains(words), "\(text)")
        #expect(!text.contains("hunter2") && !text.contains("aHVudGVyMg"))
      }
    }
    await proxy.stop()
  }

  @Test("an upstream proxy that is down, or another kind of server, is reported by name")
  func down() async throws {
    let port = try Endpoint.freePort()
    try await withGateway(to: "http://127.0.0.1:9", through: "http://a:secret@127.0.0.1:\(port)") { client in
      let text = try await client.get("http://device/").text
      #expect(text.contains("the proxy http://127.0.0.1:\(port)") && !text.contains("secret"), "\(text)")
    }
    for text in ["proxy:3128", "https://h:1", "http://h", "http://user@h:1", "http://h:1/path", "http://u:%zz@h:1"] {
      #expect { try UpstreamProxy(text) } throws: { !BywayError($0).message.contains("user@") }
    }
  }
}
