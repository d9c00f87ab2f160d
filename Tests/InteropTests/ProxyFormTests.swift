import TestPeers
import TestTools
import Testing

extension Interop {
  /// The forms of request target (RFC 9112 §3.2), with a second origin that the gateway allows.
  @Suite("Forms of the request target") struct ProxyFormTests {
    @Test("a request in origin form goes to the gateway's origin", arguments: LinkKind.allCases)
    func originForm(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      #expect(try await Curl.fetch(passage.url + "/").text == "hello, byway\n")
      await passage.stop()
    }

    @Test("a request in absolute form goes to its target", arguments: LinkKind.allCases)
    func absoluteForm(_ kind: LinkKind) async throws {
      let other = try await OriginServer()
      let passage = try await Passage(over: kind, gateway: ["--allow", "\(other.endpoint)"])
      let echo: Echo = try await Curl.fetch("--proxy", passage.url, other.url + "/echo?x").json()
      #expect(echo.target == "/echo?x")
      #expect(echo.values("host") == ["\(other.endpoint)"])
      await passage.stop()
    }

    @Test("CONNECT carries arbitrary bytes, such as TLS, end to end", arguments: LinkKind.allCases)
    func connect(_ kind: LinkKind) async throws {
      let folder = try TemporaryFolder()
      let certificates = try await Certificates()
      let nginx = try await NginxServer(in: folder, http2: true, tls: certificates.server)
      let passage = try await Passage(over: kind, gateway: ["--allow", "\(nginx.endpoint)"])
      let answer = try await Curl.fetch(
        "--proxy", passage.url, "--cacert", certificates.authority, "https://\(nginx.endpoint)/hello")
      #expect(answer.text == "hello, byway\n")
      #expect(answer.version == "2")
      await passage.stop()
    }

    @Test("CONNECT carries a plain-text request, and half-closes cleanly") func connectCleartext() async throws {
      let other = try await OriginServer()
      let passage = try await Passage(over: .unix, gateway: ["--allow", "\(other.endpoint)"])
      let answer = try await Curl.fetch("--proxytunnel", "--proxy", passage.url, other.url + "/until-close")
      #expect(answer.text == "the end is the end\n")
      await passage.stop()
    }
  }
}
