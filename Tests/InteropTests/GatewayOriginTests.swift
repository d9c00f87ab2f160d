import TestPeers
import TestTools
import Testing

extension Interop {
  /// The kinds of origin that a gateway forwards to.
  @Suite("Origins of the gateway") struct GatewayOriginTests {
    @Test("HTTP/1.1 on TCP") func http() async throws {
      let nginx = try await NginxServer(in: TemporaryFolder())
      let bare = try await BareGateway(to: "http://\(nginx.endpoint)")
      #expect(try await bare.curl("http://device/hello").text == "hello, byway\n")
      await bare.stop()
    }

    @Test("HTTP/2 with prior knowledge") func h2c() async throws {
      let nginx = try await NginxServer(in: TemporaryFolder(), http2: true)
      let bare = try await BareGateway(to: "h2c://\(nginx.endpoint)")
      #expect(try await bare.curl("http://device/hello").text == "hello, byway\n")
      await bare.stop()
    }

    @Test("an HTTP/2 origin that allows two streams at once answers a hundred requests") func fewStreams() async throws
    {
      let nginx = try await NginxServer(
        in: TemporaryFolder(), http2: true, locations: "http2_max_concurrent_streams 2;")
      let bare = try await BareGateway(to: "h2c://\(nginx.endpoint)")
      #expect(try await bare.curl("http://device/hello").text == "hello, byway\n")
      let many = try await Script.http2.run(
        "unix:\(bare.socket)", "/hello", "-X", "POST", "--data", "x", "--count", "100", as: H2Answers.self)
      #expect(many.responses.count == 100)
      #expect(many.responses.allSatisfy { $0.status == 200 && $0.text == "hello, byway\n" })
      await bare.stop()
    }

    @Test("https with a certificate that nobody vouches for is refused, and the answer says so") func https()
      async throws
    {
      let certificates = try await Certificates()
      let nginx = try await NginxServer(in: TemporaryFolder(), tls: certificates.server)
      let bare = try await BareGateway(to: "https://\(nginx.endpoint)")
      let problem = try await bare.curl("http://device/hello").problem()
      #expect(problem.status == 502)
      #expect(problem.words.lowercased().contains("certificate"))
      await bare.stop()
    }

    @Test("idle connections are used again") func reuse() async throws {
      let bare = try await BareGateway()
      var connections: Set<Int> = []
      for _ in 0..<5 { connections.insert(try await bare.curl("http://device/echo").json(Echo.self).connection) }
      #expect(connections.count == 1)
      await bare.stop()
    }

    @Test("an idle connection that the origin has closed costs no request") func keepAliveRace() async throws {
      let bare = try await BareGateway(dropAfter: 1)
      for _ in 0..<20 {
        let answer = try await bare.curl("http://device/")
        #expect(answer.status == 200)
      }
      await bare.stop()
    }

    @Test("bytes that follow an answer are never the next one's") func extraBytes() async throws {
      let bare = try await BareGateway()
      for _ in 0..<5 {
        _ = try await bare.curl("http://device/extra-bytes")
        #expect(try await bare.curl("http://device/").text == "hello, byway\n")
      }
      await bare.stop()
    }
  }
}
