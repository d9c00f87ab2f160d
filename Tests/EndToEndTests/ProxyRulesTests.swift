import TestPeers
import Testing

extension EndToEnd {
  /// What a web page, or a stranger, may not do.
  @Suite("Rules") struct ProxyRulesTests {
    @Test(
      "a name that the proxy does not answer to gets 421: no page reaches the device by rebinding its name",
      arguments: ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "localhost.evil.example"])
    func foreignHost(_ host: String) async throws {
      let passage = try await Passage(over: .unix)
      let answer = try await Curl.fetch("-H", "Host: \(host)", passage.url + "/count", "-d", "x")
      #expect(try answer.problem().status == 421)
      #expect(try await Curl.fetch(passage.url + "/count").json(Count.self).posts == 0)
      await passage.stop()
    }

    @Test("without --allow nothing but the origin is reached") func forbidden() async throws {
      let other = try await OriginServer()
      let passage = try await Passage(over: .unix)
      let absolute = try await Curl.fetch("--proxy", passage.url, other.url + "/")
      #expect(try absolute.problem().status == 403)
      let tunnel = try await Curl.fetch("--proxytunnel", "--proxy", passage.url, other.url + "/")
      #expect(tunnel.exitCode != 0)
      #expect(tunnel.heads.map(\.status) == [403])
      await passage.stop()
      await other.stop()
    }

    @Test("--allow opens one host and port, and its neighbour stays closed") func allowed() async throws {
      let other = try await OriginServer()
      let neighbour = try await OriginServer()
      let passage = try await Passage(over: .unix, gateway: ["--allow", "\(other.endpoint)"])
      #expect(try await Curl.fetch("--proxy", passage.url, other.url + "/").status == 200)
      #expect(try await Curl.fetch("--proxy", passage.url, neighbour.url + "/").status == 403)
      await passage.stop()
      await other.stop()
      await neighbour.stop()
    }

    @Test("a request that comes round to its own proxy ends with 508") func loop() async throws {
      let port = try Endpoint.freePort()
      let folder = try TemporaryFolder()
      let gateway = try await BywayProcess.gateway([
        "--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:\(port)",
      ])
      let proxy = try await BywayProcess.proxy(["--link", "unix:\(folder["l"])", "--listen", "127.0.0.1:\(port)"])
      let problem = try await Curl.fetch("http://127.0.0.1:\(port)/").problem()
      #expect(problem.status == 508)
      await proxy.process.stop()
      await gateway.process.stop()
    }

    @Test(
      "requests that mean two things are refused",
      arguments: [
        #"POST /count HTTP/1.1\r\nhost: HOST\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"#,
        #"POST /count HTTP/1.1\r\nhost: HOST\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nabcde"#,
        #"POST /count HTTP/1.1\r\nhost: HOST\r\ntransfer-encoding : chunked\r\n\r\n0\r\n\r\n"#,
        #"POST /count HTTP/1.1\r\nhost: HOST\r\nhost: HOST\r\ncontent-length: 0\r\n\r\n"#,
        #"POST /count HTTP/1.1\r\ncontent-length: 0\r\n\r\n"#,
        #"POST /count HTTP/1.1\r\nhost: HOST\r\nx: a\x00b\r\ncontent-length: 0\r\n\r\n"#,
      ])
    func smuggling(_ text: String) async throws {
      let passage = try await Passage(over: .unix)
      let request = text.replacing("HOST", with: passage.host)
      let answer = try await Script.http1.run(
        "raw", passage.host, "--text", request, "--deadline", "5", as: RawTextAnswer.self)
      #expect(answer.text.hasPrefix("HTTP/1.1 400"), "\(answer.text)")
      #expect(answer.end != "open")
      #expect(try await Curl.fetch(passage.url + "/count").json(Count.self).posts == 0)
      await passage.stop()
    }
  }
}
