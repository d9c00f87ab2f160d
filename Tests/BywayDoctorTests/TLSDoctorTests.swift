import Byway
import BywayDoctor
import BywayGateway
import Foundation
import HTTPTypes
import TCPTransport
import TestPeers
import TestTools
import Testing
import TransportTestSupport

/// Links over TLS, working and failing.
@Suite("Doctor: TLS", .timeLimit(.minutes(2))) struct TLSDoctorTests {
  private let transports = TransportRegistry([TCPTransport(), TLSTransport()])
  private let ca: Certificates

  init() async throws { ca = try await Certificates() }

  /// - Parameter place: the host and port.
  private func examine(_ place: String, _ options: String) async throws -> Report {
    await Doctor(transports).examine(try transports.link("tls://\(place)?\(options)"))
  }

  /// - Parameter listening: the gateway's link, with port 0.
  private func withGateway(_ listening: String, body: (_ place: String) async throws -> Void) async throws {
    let gateway = try await Gateway.start(
      GatewayConfiguration(links: [try transports.link(listening)], origin: .handler { _ in Response(status: .ok) }))
    let place = try #require(gateway.addresses.first).hostPort()
    try await body("\(place)")
    await gateway.stop(within: .zero)
  }

  private var trust: String { "ca=\(ca.authority)" }

  @Test("the doctor accepts mutual TLS, and reports a client without a certificate or with an untrusted one")
  func clients() async throws {
    try await withGateway("tls://127.0.0.1:0?\(ca.server.options)&\(trust)") { place in
      let report = try await examine(place, "\(trust)&\(ca.client.options)")
      #expect(report.expects(nil), "\(report.json)")
      let none = try await examine(place, trust)
      #expect(none.expects(.clientCertificateWanted), "\(none.json)")
      let other = try await Certificates()
      let unknownPeer = try await examine(place, "\(trust)&\(other.client.options)")
      #expect(unknownPeer.expects(.clientCertificateRefused), "\(unknownPeer.json)")
      let old = try await ca.issue("old-client", names: "DNS:client.test", days: -1)
      let expired = try await examine(place, "\(trust)&\(old.options)")
      #expect(
        expired.expects(.clientCertificateRefused) && expired.steps.first?.diagnosis?.fault == .ownCertificate,
        "\(expired.json)")
      let early = try await ca.issueForTheFuture("early-client")
      let tooSoon = try await examine(place, "\(trust)&\(early.options)")
      #expect(tooSoon.steps.first?.diagnosis?.fault == .ownCertificate, "\(tooSoon.json)")
      #expect(tooSoon.steps.first?.diagnosis?.sentence.contains("is not valid yet") == true, "\(tooSoon.json)")
    }
  }

  @Test("the doctor reports a certificate that is expired, not yet valid, for another name or from another authority")
  func certificates() async throws {
    let other = try await Certificates()
    let named = try await ca.issue("named", names: "DNS:gateway.example,IP:10.0.0.1")
    for (identity, fault, word) in [
      (try await ca.issue("old", days: -1), LinkFault.expired, "has expired on 20"),
      (try await ca.issueForTheFuture("early"), .notYetValid, "sudo timedatectl set-ntp true"),
      (named, .wrongName, "It is for gateway.example, 10.0.0.1."),
      (other.server, .unknownAuthority, "give that instead"),
    ] {
      try await withGateway("tls://127.0.0.1:0?\(identity.options)") { place in
        let report = try await examine(place, trust)
        #expect(report.expects(fault) && report.line.contains(word), "\(report.json)")
        if fault == .wrongName {
          #expect(report.line.hasSuffix("Run: byway doctor 'tls://\(place)?\(trust)&name=gateway.example'"))
          let mended = try await examine(place, "\(trust)&name=gateway.example")
          #expect(mended.expects(nil), "\(mended.json)")
        }
      }
    }
  }

  @Test("byway request prints the command that corrects the name of a gateway's certificate")
  func command() async throws {
    let named = try await ca.issue("named", names: "DNS:gateway.example")
    try await withGateway("tls://127.0.0.1:0?\(named.options)") { place in
      let result = try await BywayProcess.run(["request", "/", "--link", "tls://\(place)?\(trust)"])
      #expect(result.exitCode == 69)
      let command = "byway doctor 'tls://\(place)?\(trust)&name=gateway.example'"
      #expect(result.errorText.hasSuffix("It is for gateway.example. Run: \(command)\n"), "\(result.errorText)")
    }
  }

  @Test("the doctor reports a server without a common HTTP version or TLS version")
  func servers() async throws {
    let nginx = try await NginxServer(in: TemporaryFolder(), tls: ca.server)
    let report = try await examine("\(nginx.endpoint)", trust)
    #expect(report.expects(.noCommonProtocol), "\(report.json)")
    let sound = try await examine("\(nginx.endpoint)", "\(trust)&http=1.1")
    #expect(sound.isUsable, "\(sound.json)")
    await nginx.stop()

    let openssl = try await OpenSSLServer.outdated(ca.server)
    let old = try await examine("\(openssl.endpoint)", trust)
    #expect(old.expects(.noCommonVersion), "\(old.json)")
    await openssl.stop()
  }

  @Test("the doctor reports a server without TLS: a gateway, a web server, a mail server, an SSH server")
  func plain() async throws {
    try await withGateway("tcp://127.0.0.1:0") { place in
      let report = try await examine(place, trust)
      #expect(report.expects(.notTLS) && report.line.contains("without TLS, as a gateway"), "\(report.json)")
    }
    let nginx = try await NginxServer(in: TemporaryFolder())
    let web = try await examine("\(nginx.endpoint)", trust)
    #expect(web.expects(.notTLS) && web.line.contains("a web server without TLS"), "\(web.json)")
    await nginx.stop()
    for (words, name) in [("220 mx.test ESMTP\r\n", "a mail server"), ("SSH-2.0-OpenSSH_9.2p1\r\n", "an SSH server")] {
      let server = try await WordyServer(words)
      let report = try await examine("127.0.0.1:\(server.port)", trust)
      #expect(report.expects(.wrongScheme) && report.line.contains(name), "\(report.json)")
      await server.stop()
    }
  }

  @Test("the doctor reports a port without a listener, and checks key and CA files before it connects")
  func before() async throws {
    let port = try UnusedPort()
    let report = try await examine("127.0.0.1:\(port.port)", trust)
    #expect(report.expects(.nobodyListens), "\(report.json)")
    let exposed = try await ca.issue("exposed")
    chmod(exposed.key, 0o644)
    let key = try await examine("127.0.0.1:\(port.port)", "\(trust)&\(exposed.options)")
    #expect(key.expects(.exposedKey) && key.line.hasSuffix("Run: chmod 600 \(exposed.key)"), "\(key.json)")
    let missing = try await examine("127.0.0.1:\(port.port)", "ca=\(ca.authority).no")
    #expect(missing.expects(.badSettings), "\(missing.json)")
    withExtendedLifetime(port) {}
  }
}
