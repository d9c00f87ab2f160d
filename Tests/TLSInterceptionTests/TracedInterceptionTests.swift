import Byway
import BywayGateway
import BywayInterceptors
import BywayProxy
import BywayTLS
import HTTPTypes
import Logging
import LoopbackTransport
import NIOCore
import Synchronization
import TCPTransport
import TestPeers
import TestTools
import Testing

@testable import BywayTLSInterception

/// curl, a proxy with TLS inspection and a trace, a link, a gateway, and an nginx with a private authority.
@Suite(.serialized, .timeLimit(.minutes(2))) struct TracedInterceptionTests {
  private final class Lines: TraceRecorder {
    private let recorded = Mutex<[TracedExchange]>([])

    func record(_ exchange: TracedExchange) {
      recorded.withLock { $0.append(exchange) }
    }

    var exchanges: [TracedExchange] { recorded.withLock { $0 } }
  }

  @Test(
    "an interceptor in the proxy reads and changes https requests in plain text", arguments: ["--http2", "--http1.1"])
  func traced(_ version: String) async throws {
    let ca = try await Certificates()
    let nginx = try await NginxServer(in: TemporaryFolder(), http2: true, tls: ca.server)
    let url = "https://\(nginx.endpoint)/hello?secret=x"
    let folder = try TemporaryFolder()
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let transports = TransportRegistry([LoopbackTransport(), TCPTransport()])
    let link = try transports.link("loopback:inspected-\(UInt64.random(in: 0 ... .max))")
    var far = GatewayConfiguration(links: [link], origin: .handler { _ in Response(status: .notFound) })
    far.allowed = [try AllowRule("\(nginx.endpoint)")]
    far.logger = quiet
    let gateway = try await Gateway.start(far)

    let authority = try LocalAuthority(name: "A test's")
    let file = try folder.write(authority.certificatePEM, to: "authority.pem")
    var policy = TLSPolicy()
    try policy.trust.add(certificatesIn: ca.authority, for: "127.0.0.1")
    let lines = Lines()
    var near = try ProxyConfiguration(link: link, listen: transports.link("tcp://127.0.0.1:0"))
    near.logger = quiet
    near.termination = TLSInterceptor(of: [.exactly(.ipv4(0x7F00_0001))], by: authority)
    near.interceptors = [
      Trace(to: lines), Transform(mediaTypes: ["text/plain"]) { _ in Uppercase() },
      EndToEndTLS(policy, hosts: ["127.0.0.1"]),
    ]
    let proxy = try await Proxy.start(near)
    let via = try ["--proxy", "http://127.0.0.1:\(proxy.address.hostPort().port ?? 0)", "--cacert", file, version]

    let answers = try await Curl.fetch(via + [url, "--next"] + via + ["-sS", "-o", "/dev/null", url])
    #expect(answers.text == "HELLO, BYWAY\n", "\(answers.errorText) \(answers.text)")
    #expect(try await eventually { lines.exchanges.count == 2 })
    for exchange in lines.exchanges {
      #expect(exchange.request.scheme == "https")
      #expect(exchange.request.authority == "\(nginx.endpoint)")
      #expect(exchange.request.path?.hasPrefix("/hello?secret=") == true)
      #expect(exchange.response?.status == .ok)
    }
    await proxy.stop(within: .zero)
    await gateway.stop(within: .zero)
    await nginx.stop()
  }
}

private struct Uppercase: BodyTransformation {
  mutating func transform(_ chunk: ByteBuffer) -> ByteBuffer {
    ByteBuffer(bytes: chunk.readableBytesView.map { (0x61...0x7A).contains($0) ? $0 - 32 : $0 })
  }

  mutating func finish() -> ByteBuffer { ByteBuffer() }
}
