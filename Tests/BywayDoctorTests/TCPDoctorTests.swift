import Byway
import BywayDoctor
import BywayGateway
import Glibc
import HTTPTypes
import NIOCore
import TCPTransport
import TestPeers
import TestTools
import Testing
import TransportTestSupport

/// Links over local TCP, working and failing.
@Suite("Doctor: TCP", .timeLimit(.minutes(2))) struct TCPDoctorTests {
  private let transports = TransportRegistry([TCPTransport(), TLSTransport()])

  private func examine(_ place: String) async throws -> Report {
    await Doctor(transports).examine(try transports.link("tcp://\(place)"))
  }

  private func examineGateway(_ options: String = "") async throws -> Report {
    let gateway = try await Gateway.start(
      GatewayConfiguration(
        links: [try transports.link("tcp://127.0.0.1:0")], origin: .handler { _ in Response(status: .ok) }))
    let place = try #require(gateway.addresses.first).hostPort()
    let report = try await examine("\(place)\(options)")
    await gateway.stop(within: .zero)
    return report
  }

  @Test("the doctor reports a gateway on a TCP port as sound")
  func sound() async throws {
    let report = try await examineGateway()
    #expect(report.expects(nil), "\(report.json)")
  }

  @Test("the doctor reports a gateway as sound that is asked with http=1.1")
  func http1() async throws {
    let report = try await examineGateway("?http=1.1")
    #expect(report.expects(nil), "\(report.json)")
  }

  @Test("the doctor blames the link's option http=1.1, not a server that speaks HTTP/2")
  func wrongFraming() async throws {
    // An empty SETTINGS (RFC 9113 §6.5).
    let server = try await WordyServer("\0\0\0\u{4}\0\0\0\0\0")
    let report = try await examine("127.0.0.1:\(server.port)?http=1.1")
    await server.stop()
    #expect(report.expects(.wrongScheme) && report.line.contains("leave out http=1.1"), "\(report.json)")
  }

  @Test("the doctor skips a link on which the far end dials")
  func farEndDials() async throws {
    let port = try UnusedPort()
    let report = try await examine("127.0.0.1:\(port.port)?open=listen")
    #expect(report.expects(nil) && report.steps.map(\.word) == ["skipped"], "\(report.json)")
    withExtendedLifetime(port) {}
  }

  @Test("the doctor reports a port without a listener, and a listener that sends nothing")
  func nobody() async throws {
    let port = try UnusedPort()
    let refused = try await examine("127.0.0.1:\(port.port)")
    #expect(refused.expects(.nobodyListens), "\(refused.json)")
    withExtendedLifetime(port) {}
    let server = try await WordyServer("")
    let silent = try await examine("127.0.0.1:\(server.port)")
    #expect(silent.expects(.noGateway), "\(silent.json)")
    await server.stop()
  }

  @Test("the doctor reports a network that is unreachable from this machine")
  func noRoute() {
    for code in [ENETUNREACH, EHOSTUNREACH] {
      let error = IOError(errnoCode: code, reason: "connect")
      let diagnosis = Diagnosis(connecting: ConnectFailure(error), "There is no route.", address: "192.0.2.1")
      #expect(diagnosis.fault == .noRoute && diagnosis.command == "ip route get 192.0.2.1")
    }
  }

  @Test("the doctor reports a web server with the link address that reaches it")
  func webServer() async throws {
    let nginx = try await NginxServer(in: TemporaryFolder())
    let report = try await examine("\(nginx.endpoint)")
    #expect(report.expects(.webServer), "\(report.json)")
    #expect(report.line.hasSuffix("Run: byway doctor 'tcp://\(nginx.endpoint)?http=1.1'"), "\(report.line)")
    let mended = try await examine("\(nginx.endpoint)?http=1.1")
    #expect(mended.expects(nil), "\(mended.json)")
    await nginx.stop()
  }

  @Test("the doctor reports a server of TLS, SSH, mail or an unknown protocol on a TCP link")
  func unexpectedPeers() async throws {
    let ca = try await Certificates()
    let nginx = try await NginxServer(in: TemporaryFolder(), tls: ca.server)
    let tls = try await examine("\(nginx.endpoint)")
    #expect(tls.isUsable == false, "\(tls.json)")
    await nginx.stop()
    for (words, fault) in [
      ("\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{46}\u{0}\u{0}", LinkFault.wrongScheme),
      ("SSH-2.0-OpenSSH_9.2p1\r\n", .wrongScheme),
      ("220 mx.test ESMTP\r\n", .otherProgram), ("-ERR unknown command\r\n", .otherProgram),
    ] {
      let server = try await WordyServer(words)
      let report = try await examine("127.0.0.1:\(server.port)")
      #expect(report.expects(fault), "\(words.debugDescription) \(report.json)")
      await server.stop()
    }
  }
}
