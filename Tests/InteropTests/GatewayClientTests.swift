import TestPeers
import TestTools
import Testing

extension Interop {
  /// Clients that speak HTTP/2 directly to a gateway, without Byway on their side.
  @Suite("Clients of the gateway") struct GatewayClientTests {
    @Test("curl reaches a gateway on a Unix socket") func curl() async throws {
      let bare = try await BareGateway()
      let echo: Echo = try await bare.curl("-d", "x=1", "http://device/echo?a=b").json()
      #expect(echo.method == "POST")
      #expect(echo.target == "/echo?a=b")
      #expect(echo.body == "x=1")
      #expect(echo.values("host") == ["device"])
      let trailers = try await bare.curl("http://device/trailers")
      #expect(trailers.trailers.map(\.name) == ["x-digest", "x-late"])
      let hinted = try await bare.curl("http://device/early-hints")
      #expect(hinted.heads.map(\.status) == [103, 200])
      await bare.stop()
    }

    @Test("nghttp reaches a gateway on a TCP link") func nghttp() async throws {
      let folder = try TemporaryFolder()
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let gateway = try await BywayProcess.gateway(["--link", "tcp://127.0.0.1:0", "--origin", "\(origin.endpoint)"])
      let url = try "http://\(gateway.endpoint())"
      #expect(try await Program.nghttp.run([url + "/"]).text == "hello, byway\n")
      let many = try await Program.nghttp.run(["-n", "-s", "-m", "50", url + "/"])
      #expect(many.exitCode == 0)
      await gateway.process.stop()
      await origin.stop()
    }

    @Test("the h2 package uploads on 100 concurrent streams with trailers") func h2() async throws {
      let bare = try await BareGateway()
      let address = "unix:\(bare.socket)"
      let many = try await Script.http2.run(address, "/slow-head?ms=50", "--count", "100", as: H2Answers.self)
      #expect(many.responses.count == 100)
      #expect(many.responses.allSatisfy { $0.status == 200 && $0.end == "complete" && $0.text == "at last\n" })

      let upload = try await Script.http2.run(
        address, "/echo", "-X", "POST", "--data", "hi", "--trailer", "x-sum: 7", as: H2Answers.self)
      #expect(upload.responses.first?.text.contains(#"["x-sum", "7"]"#) == true)

      let large = try await Script.http2.run(address, "/digest", "-X", "PUT", "--size", "3000000", as: H2Answers.self)
      #expect(large.responses.first?.text.contains(#""length": 3000000"#) == true)
      await bare.stop()
    }

    @Test("a client opens a WebSocket over HTTP/2 (RFC 8441)") func webSocket() async throws {
      let bare = try await BareGateway()
      let answer = try await Script.http2.run(
        "unix:\(bare.socket)", "/websocket", "--websocket", as: WebSocketAnswer.self)
      #expect(answer.status == 200)
      #expect(answer.echoed == [5, 70_000])
      await bare.stop()
    }

    @Test("HAProxy distributes requests to a fleet of gateways") func fleet() async throws {
      let folder = try TemporaryFolder()
      let first = try await BareGateway()
      let second = try await BareGateway()
      let haproxy = try await HaproxyServer(in: folder, upstreams: [.unix(first.socket), .unix(second.socket)])
      for _ in 0..<20 {
        #expect(try await Curl.fetch("http://\(haproxy.endpoint)/").text == "hello, byway\n")
      }
      await haproxy.stop()
      await first.stop()
      await second.stop()
    }
  }
}
