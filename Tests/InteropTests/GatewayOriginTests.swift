import TestPeers
import TestTools
import Testing

extension Interop {
  /// The kinds of origin that a gateway forwards to.
  @Suite("Origins of the gateway") struct GatewayOriginTests {
    @Test("the gateway reaches an HTTP/1.1 origin on TCP") func http() async throws {
      let nginx = try await NginxServer(in: TemporaryFolder())
      let bare = try await BareGateway(to: "http://\(nginx.endpoint)")
      #expect(try await bare.curl("http://device/hello").text == "hello, byway\n")
      await bare.stop()
    }

    @Test("the gateway reaches an HTTP/2 origin with prior knowledge") func h2c() async throws {
      let nginx = try await NginxServer(in: TemporaryFolder(), http2: true)
      let bare = try await BareGateway(to: "h2c://\(nginx.endpoint)")
      #expect(try await bare.curl("http://device/hello").text == "hello, byway\n")
      await bare.stop()
    }

    @Test(
      "an HTTP/2 origin that allows two concurrent streams answers a hundred requests") func fewStreams() async throws
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

    @Test("an https origin with an untrusted certificate is refused with the reason") func https()
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

    @Test("idle connections to the origin are reused") func reuse() async throws {
      let bare = try await BareGateway()
      var connections: Set<Int> = []
      for _ in 0..<5 { connections.insert(try await bare.curl("http://device/echo").json(Echo.self).connection) }
      #expect(connections.count == 1)
      await bare.stop()
    }

    @Test("an idle connection that the origin has closed fails no request") func keepAliveRace() async throws {
      let bare = try await BareGateway(dropAfter: 1)
      for _ in 0..<20 {
        let answer = try await bare.curl("http://device/")
        #expect(answer.status == 200)
      }
      await bare.stop()
    }

    @Test("surplus bytes after a response are never used for the next one") func extraBytes() async throws {
      let bare = try await BareGateway()
      for _ in 0..<5 {
        _ = try await bare.curl("http://device/extra-bytes")
        #expect(try await bare.curl("http://device/").text == "hello, byway\n")
      }
      await bare.stop()
    }
  }
}
