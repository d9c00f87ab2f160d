import Byway
import BywayGateway
import BywayProxy
import HTTPTypes
import Logging
import NIOCore
import TCPTransport
import TestTools
import TestWire
import Testing

/// Fields and status codes that must not pass a hop.
@Suite(.timeLimit(.minutes(1)), .cleansUp) struct HopTests {
  @Test("an origin's 407 becomes 502, so it cannot ask a proxy's users for a password")
  func proxyLoginOfOrigin() async throws {
    let origin = try await OtherServer(
      answer:
        "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
    let fixture = try await ProxyFixture(origin: "http://127.0.0.1:\(origin.port)")
    let response = try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost")
    #expect(response.hasPrefix("HTTP/1.1 502 Bad Gateway\r\n"), "\(response)")
    #expect(!response.lowercased().contains("proxy-authenticate"))
  }

  @Test("an origin's Proxy-Authenticate is removed from a response with another status, over HTTP/1.1 and HTTP/2")
  func challengeBesideStatus() async throws {
    let origin = try await OtherServer(
      answer: "HTTP/1.1 401 Unauthorized\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
    let fixture = try await ProxyFixture(origin: "http://127.0.0.1:\(origin.port)")
    let response = try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost")
    #expect(response.hasPrefix("HTTP/1.1 401 Unauthorized\r\n"))
    #expect(!response.lowercased().contains("proxy-authenticate"))
    let client = try fixture.http2()
    #expect(try await client.get("http://localhost/").fields[.proxyAuthenticate] == nil)
    await client.shutDown()
  }

  @Test("a 407 from the server of a link without a gateway becomes 502")
  func proxyLoginOfServer() async throws {
    let server = try await OtherServer(
      answer:
        "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let transports = TransportRegistry([TCPTransport()])
    var configuration = try ProxyConfiguration(
      link: transports.link("tcp://127.0.0.1:\(server.port)?http=1.1"), listen: transports.link("tcp://127.0.0.1:0"))
    configuration.logger = quiet
    let proxy = try await Proxy.start(configuration)
    let client = try await WireEnd.connect(
      to: SocketAddress(ipAddress: "127.0.0.1", port: proxy.address.hostPort().port ?? 0), on: TestLoops.next())
    try await client.send("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    #expect(try await client.receiveToEnd().hasPrefix("HTTP/1.1 502 Bad Gateway\r\n"))
    await proxy.stop(within: .zero)
  }

  @Test("an HTTP/2 origin does not receive a user's login for the proxy")
  func loginForProxy() async throws {
    // A gateway is an HTTP/2 server.
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    var far = try GatewayConfiguration(
      links: [TransportRegistry([TCPTransport()]).link("tcp://127.0.0.1:0")],
      origin: .handler { request in
        let names = request.head.headerFields.map { $0.name.canonicalName }
        return Response(status: .ok, body: Body("fields: \(names.joined(separator: " "))\n"))
      })
    far.logger = quiet
    let origin = try await Gateway.start(far)
    let port = try origin.addresses[0].hostPort().port ?? 0
    let fixture = try await ProxyFixture(origin: "h2c://127.0.0.1:\(port)")
    let response = try await fixture.exchange(
      "GET / HTTP/1.1\r\nHost: localhost\r\nProxy-Authorization: Basic YTpi\r\nX-Other: 1")
    #expect(response.contains("x-other"), "\(response)")
    #expect(!response.contains("proxy-authorization"), "\(response)")
    await fixture.stop()
    await origin.stop(within: .zero)
  }

  @Test("an origin cannot forge the Proxy-Status of a gateway or proxy")
  func forgedStatus() async throws {
    let origin = try await OtherServer(
      answer: "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
        + "Proxy-Status: byway-gateway-x; error=destination_unavailable; details=\"a, b\", cdn; received-status=503\r\n"
        + "Proxy-Status: \"byway-proxy-y\"; details=\"byway-\", \"x, byway-z\"\r\n\r\n")
    let fixture = try await ProxyFixture(origin: "http://127.0.0.1:\(origin.port)")
    let response = try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost")
    #expect(response.hasPrefix("HTTP/1.1 503 "))
    #expect(response.contains("proxy-status: cdn; received-status=503, \"x, byway-z\"\r\n"), "\(response)")
    await fixture.stop()
    // The gateway's own Proxy-Status passes.
    await origin.stop()
    let down = try await ProxyFixture(origin: "http://127.0.0.1:\(origin.port)")
    #expect(try await down.exchange("GET / HTTP/1.1\r\nHost: localhost").contains("proxy-status: byway-gateway-"))
  }

  @Test("extended CONNECT is refused for any protocol but WebSocket", arguments: ["raw", "connect-udp", "websocket2"])
  func otherProtocols(_ name: String) async throws {
    let origin = try await OtherServer(
      answer: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: \(name)\r\nConnection: upgrade\r\n\r\n")
    let fixture = try await ProxyFixture(origin: "http://127.0.0.1:\(origin.port)")
    let client = try fixture.http2()
    var request = try Request(.connect, url: "http://localhost/")
    request.head.extendedConnectProtocol = name
    #expect(try await client.execute(request).status == .notImplemented)
    await client.shutDown()
  }

  @Test("a URL with another scheme is refused, and the response lists the supported ones")
  func otherScheme() async throws {
    let fixture = try await ProxyFixture(allowed: ["*:*"])
    let response = try await fixture.exchange("GET ftp://device.example/file HTTP/1.1\r\nHost: device.example")
    #expect(response.hasPrefix("HTTP/1.1 400 Bad Request\r\n"), "\(response)")
    #expect(response.contains("Only http and https are served here"))
  }
}
