import Byway
import BywayTLS
import NIOSSL
import TestPeers
import TestTools
import Testing

/// Trusted and untrusted servers, and messages about the latter.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ServerTrustTests {
  private func failure(
    _ identity: Certificates.Identity, _ policy: TLSPolicy, host: String = "127.0.0.1"
  ) async throws -> BywayError? {
    let nginx = try await NginxServer(in: TemporaryFolder(), tls: identity)
    let port = try #require("\(nginx.endpoint)".split(separator: ":").last)
    let rig = try await HTTPSRig(policy, allowing: ["*:*"])
    let failure = await rig.failure("https://\(host):\(port)/hello")
    await rig.stop()
    await nginx.stop()
    return failure
  }

  @Test("an expired certificate, one for another name and one of an unknown authority are refused with the reason")
  func refused() async throws {
    let ca = try await Certificates()
    let trusting = try TLSPolicy.trusting(ca.authority)
    let expired = try await failure(try await ca.issue("old", days: -1), trusting)
    #expect(expired?.message.contains("has expired") == true, "\(expired as Any)")
    let other = try await failure(try await ca.issue("other", names: "DNS:elsewhere.example"), trusting)
    #expect(other?.message.contains("is not for 127.0.0.1") == true, "\(other as Any)")
    let foreign = try await failure(try await Certificates().server, trusting)
    #expect(foreign?.message.contains("not issued by an authority in \(ca.authority)") == true, "\(foreign as Any)")
    for error in [expired, other, foreign] { #expect(error?.code == .originUntrusted) }
  }

  @Test("a trusted self-signed certificate is accepted for its host with any name and dates")
  func itself() async throws {
    let ca = try await Certificates()
    let selfSigned = try await ca.selfSigned("device", names: "DNS:device-0815")
    #expect(try await failure(selfSigned, .defaults)?.code == .originUntrusted)
    #expect(try await failure(selfSigned, .trusting(selfSigned.cert, for: "localhost"))?.code == .originUntrusted)
    #expect(try await failure(selfSigned, .trusting(selfSigned.cert)) == nil)
    let another = try await ca.selfSigned("another", names: Certificates.local)
    #expect(try await failure(another, .trusting(selfSigned.cert))?.code == .originUntrusted)
  }

  @Test("a certificate of an unknown authority is accepted if the certificate itself is trusted")
  func leaf() async throws {
    let ca = try await Certificates()
    #expect(try await failure(ca.server, .trusting(ca.server.cert)) == nil)
    let sibling = try await ca.issue("sibling")
    #expect(try await failure(sibling, .trusting(ca.server.cert))?.code == .originUntrusted)
  }

  @Test("a pinned key is accepted in any certificate, and another key is refused in a valid one")
  func pins() async throws {
    let ca = try await Certificates()
    let selfSigned = try await ca.selfSigned("device", names: "DNS:device-0815")
    var policy = TLSPolicy()
    // The command from curl's manual.
    let script =
      "openssl x509 -in \(selfSigned.cert) -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 "
      + "-binary | openssl enc -base64 -A"
    let digest = try await Program.bash.run(["-c", script]).text
    policy.trust.add(try KeyPin("sha256//" + digest), for: "127.0.0.1")
    #expect(try await failure(selfSigned, policy) == nil)
    try policy.trust.add(certificatesIn: ca.authority, for: "127.0.0.1")
    let wrong = try await failure(ca.server, policy)
    #expect(wrong?.code == .originUntrusted)
    #expect(wrong?.message.contains("a different key from the one pinned") == true, "\(wrong as Any)")
  }

  @Test("an invalid pin and an invalid certificate are reported")
  func malformed() throws {
    for text in ["", "sha256//", "sha256//AAAA", "md5//AAAAAAAAAAAAAAAAAAAAAA=="] {
      #expect(throws: BywayError.self) { try KeyPin(text) }
    }
    let pin = "sha256//" + String(repeating: "A", count: 43) + "="
    #expect(try KeyPin(pin).description == pin)
    #expect(throws: BywayError.self) { try TLSPolicy.trusting("/nowhere") }
  }

  @Test("the dialed address and the verified name can differ from the URL's host, and Host is the URL's")
  func peerName() async throws {
    let ca = try await Certificates()
    let named = try await ca.issue("named", names: "DNS:site.example")
    let nginx = try await NginxServer(
      in: TemporaryFolder(), tls: named, locations: "location = /names { return 200 \"$host $ssl_server_name\"; }")
    var policy = try TLSPolicy.trusting(ca.authority, for: "site.example")
    policy.peerNames = [try PeerName(host: "site.example", dial: "\(nginx.endpoint)")]
    let rig = try await HTTPSRig(policy, allowing: ["\(nginx.endpoint)"])
    #expect(try await rig.get("https://site.example/names") == "site.example site.example")
    await rig.stop()

    policy = try TLSPolicy.trusting(ca.authority)
    policy.peerNames = [try PeerName(host: "127.0.0.1", name: "site.example")]
    let other = try await HTTPSRig(policy, allowing: ["\(nginx.endpoint)"])
    #expect(try await other.get("https://\(nginx.endpoint)/names") == "127.0.0.1 site.example")
    await other.stop()
    await nginx.stop()
    #expect(throws: BywayError.self) { try PeerName(host: "a", name: "192.168.7.2") }
  }

  @Test("a client certificate is sent to its host only, and a missing or wrong one is reported")
  func identity() async throws {
    let ca = try await Certificates()
    let server = try await OpenSSLServer(ca.server, clientAuthority: ca.authority)
    let url = "https://\(server.endpoint)/"
    func outcome(_ identity: Certificates.Identity?, hosts: [String] = ["127.0.0.1"]) async throws -> BywayError? {
      var policy = try TLSPolicy.trusting(ca.authority)
      if let identity {
        policy.identities = [try ClientIdentity(certificate: identity.cert, key: identity.key, hosts: hosts)]
      }
      let rig = try await HTTPSRig(policy, allowing: ["\(server.endpoint)"])
      let failure = await rig.failure(url)
      await rig.stop()
      return failure
    }
    #expect(try await outcome(ca.client) == nil)
    for missing in [try await outcome(nil), try await outcome(ca.client, hosts: ["elsewhere.example"])] {
      #expect(missing?.code == .originUntrusted)
      #expect(missing?.message.contains("asks for a client certificate") == true, "\(missing as Any)")
    }
    let unknownPeer = try await outcome(try await Certificates().client)
    #expect(unknownPeer?.code == .originUntrusted)
    #expect(unknownPeer?.message.contains("our certificate") == true, "\(unknownPeer as Any)")
    await server.stop()
    #expect(throws: BywayError.self) {
      try ClientIdentity(certificate: ca.client.cert, key: ca.server.key, hosts: ["*"])
    }
  }

  @Test("a server that closes during the handshake and one without TLS are reported")
  func noTLS() async throws {
    let nginx = try await NginxServer(in: TemporaryFolder())
    let origin = try await OriginServer()
    let rig = try await HTTPSRig(allowing: ["*:*"])
    let plain = await rig.failure("https://\(nginx.endpoint)/")
    #expect(plain?.message.contains("does not speak TLS") == true, "\(plain as Any)")
    let rude = await rig.failure("https://\(origin.endpoint)/")
    #expect(rude?.message.contains("is it a TLS server?") == true, "\(rude as Any)")
    await rig.stop()
    await nginx.stop()
    await origin.stop()
  }
}
