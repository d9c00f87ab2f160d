import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// Origins of https that cannot be trusted, with the reason.
  @Suite("TLS of the origin") struct OriginTrustTests {
    @Test("the gateway refuses an expired certificate of the origin") func expired() async throws {
      let authority = try await Certificates()
      let old = try await authority.issue("old", days: -1)
      try await expect("has expired", from: old, trusting: authority)
    }

    @Test("the gateway refuses a certificate of the origin for another name") func wrongName() async throws {
      let authority = try await Certificates()
      let other = try await authority.issue("other", names: "DNS:elsewhere.example")
      try await expect("is not for", from: other, trusting: authority)
    }

    @Test("the gateway refuses a certificate from an unknown authority") func unknownAuthority() async throws {
      let authority = try await Certificates()
      let other = try await Certificates()
      try await expect("not issued by an authority in \(other.authority)", from: authority.server, trusting: other)
      try await expect("not issued by an authority that this machine trusts", from: authority.server, trusting: nil)
    }

    @Test("the gateway reports an origin without TLS") func plain() async throws {
      let nginx = try await NginxServer(in: TemporaryFolder())
      try await expect("does not speak TLS", of: "https://\(nginx.endpoint)")
      await nginx.stop()
      let origin = try await OriginServer()
      try await expect("is it a TLS server?", of: "https://\(origin.endpoint)")
      await origin.stop()
    }

    @Test("the gateway accepts a valid certificate of the origin") func trusted() async throws {
      let authority = try await Certificates()
      let nginx = try await NginxServer(in: authority.folder, tls: authority.server)
      let bare = try await BareGateway(to: "https://\(nginx.endpoint)?ca=\(authority.authority)")
      #expect(try await bare.curl("http://device/hello").text == "hello, byway\n")
      await bare.stop()
      await nginx.stop()
    }

    private func expect(
      _ words: String, from identity: Certificates.Identity, trusting authority: Certificates?,
      sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
      let folder = try TemporaryFolder()
      let nginx = try await NginxServer(in: folder, tls: identity)
      let anchors = authority.map { "?ca=\($0.authority)" } ?? ""
      try await expect(words, of: "https://\(nginx.endpoint)\(anchors)", sourceLocation: sourceLocation)
      await nginx.stop()
    }

    private func expect(_ words: String, of origin: String, sourceLocation: SourceLocation = #_sourceLocation)
      async throws
    {
      let bare = try await BareGateway(to: origin)
      let problem = try await bare.curl("http://device/").problem()
      #expect(problem.status == 502, sourceLocation: sourceLocation)
      #expect(problem.words.contains(words), "\(problem.words)", sourceLocation: sourceLocation)
      #expect(problem.proxyStatus.contains("error=tls_certificate_error"), sourceLocation: sourceLocation)
      await bare.stop()
    }
  }
}
