import Byway
import BywayTLS
import NIOCore
import TestPeers
import TestTools
import TestWire
import Testing

/// TLS connections that are cut off.
@Suite(.serialized, .timeLimit(.minutes(2)), .cleansUp) struct CutTests {
  @Test("an aborted handshake is reported immediately as such", arguments: [1, 5, 100, 600])
  func handshake(_ bytes: Int) async throws {
    let ca = try await Certificates()
    let nginx = try await NginxServer(in: TemporaryFolder(), tls: ca.server)
    let relay = try await CuttableRelay(to: try #require(nginx.endpoint.port), after: bytes)
    let rig = try await HTTPSRig(.trusting(ca.authority), allowing: ["*:*"])
    let failure = await rig.failure("https://127.0.0.1:\(relay.port)/hello")
    #expect(failure?.code == .originUntrusted)
    #expect(failure?.message.contains("ended the connection during the TLS handshake") == true, "\(failure as Any)")
  }

  @Test("a truncated body is an error, never a short success", arguments: [true, false])
  func body(_ isHTTP2: Bool) async throws {
    let ca = try await Certificates()
    let folder = try TemporaryFolder()
    _ = try MarkedFile(at: folder["f.bin"], size: 6_553_600)
    let nginx = try await NginxServer(in: folder, http2: isHTTP2, tls: ca.server)
    let relay = try await CuttableRelay(to: try #require(nginx.endpoint.port), after: 1_000_000)
    let rig = try await HTTPSRig(.trusting(ca.authority), allowing: ["*:*"])
    let failure = await rig.failure("https://127.0.0.1:\(relay.port)/f.bin")
    #expect(failure != nil)
    #expect([.originLost, .incompleteResponse, .linkLost].contains(failure?.code), "\(failure as Any)")
  }
}
