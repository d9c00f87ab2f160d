import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// Requests that web pages and unknown clients may not make.
  @Suite("Access rules of the proxy") struct ProxyRulesTests {
    @Test(
      "a request with a foreign host gets 421, so no page reaches the device by DNS rebinding",
      arguments: ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "localhost.evil.example"])
    func foreignHost(_ host: String) async throws {
      let passage = try await Passage(over: .unix)
      let answer = try await Curl.fetch("-H", "Host: \(host)", passage.url + "/count", "-d", "x")
      #expect(try answer.problem().status == 421)
      #expect(try await Curl.fetch(passage.url + "/count").json(Count.self).posts == 0)
      await passage.stop()
    }

    @Test("a page reaches its own origin, and an allowed page any, in every form of request")
    func pages() async throws {
      let other = try await OriginServer()
      let passage = try await Passage(
        over: .unix, gateway: ["--allow", "\(other.endpoint)"], proxy: ["--allow-page", "https://app.example"])
      for (origin, status) in [
        ("http://evil.example", 403), ("null", 403), ("https://app.example", 200), (other.url, 200),
      ] {
        let answer = try await Curl.fetch(
          "--proxy", passage.url, other.url + "/count", "-d", "x", "-H", "Origin: \(origin)")
        #expect(answer.status == status, "\(origin)")
      }
      #expect(try await Curl.fetch(other.url + "/count").json(Count.self).posts == 2)
      let neighbour = try await Curl.fetch(passage.url + "/count", "-d", "x", "-H", "Origin: http://localhost:1")
      #expect(try neighbour.problem().status == 403)
      await passage.stop()
      await other.stop()
    }

    @Test("an SSH server's port leads to a listener with the same access rules")
    func sshListener() async throws {
      let folder = try TemporaryFolder()
      let server = try await SSHServer(in: folder)
      let gateway = try await BareGateway()
      let port = try Endpoint.freePort()
      let proxy = try await BywayProcess.proxy([
        "--link", "unix:\(gateway.socket)", "--listen", server.address("?listen=\(port)"),
      ])
      let url = "http://127.0.0.1:\(port)/"
      #expect(try await Curl.fetch(url).text == "hello, byway\n")
      #expect(try await Curl.fetch("-H", "Host: evil.example", url).status == 421)
      #expect(try await Curl.fetch("-H", "Origin: http://evil.example", "-d", "x", url).status == 403)
      let socket = try await Curl.fetch(
        "--http1.1", "-H", "Origin: http://evil.example", "-H", "Connection: Upgrade", "-H", "Upgrade: websocket", "-H",
        "Sec-WebSocket-Version: 13", "-H", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", url)
      #expect(socket.status == 403)
      await proxy.process.stop()
      await gateway.stop()
      await server.stop()
    }

    @Test("a link that anyone may dial causes a warning, like such a listener") func openLink() async throws {
      for (option, link, listen, warning) in [
        ("--link", "tcp://0.0.0.0:0?insecure=yes&open=listen", "127.0.0.1:0", "answer in the gateway's place"),
        ("--link", "tcp://127.0.0.1:0?open=listen", "127.0.0.1:0", nil),
        ("--link", "unix:/nowhere", "0.0.0.0:0", "can use the devices behind it"),
        ("--hub", "tcp://0.0.0.0:0?insecure=yes", "127.0.0.1:0", "become a device"),
        ("--hub", "tcp://0.0.0.0:0?insecure=yes&http=1.1", "127.0.0.1:0", "become a device"),
        ("--hub", "tcp://127.0.0.1:0?http=1.1", "127.0.0.1:0", nil),
      ] as [(String, String, String, String?)] {
        let proxy = try await BywayProcess.proxy([option, link, "--listen", listen, "--listen-anywhere"])
        #expect(proxy.log.contains("Anyone who can reach this address") == (warning != nil), "\(proxy.log)")
        if let warning { #expect(proxy.log.contains(warning), "\(proxy.log)") }
        await proxy.process.stop()
      }
    }

    @Test("a URL that is not http or has no valid host and port is refused, and passwords in it are not repeated")
    func otherSchemes() async throws {
      let passage = try await Passage(over: .unix, gateway: ["--allow", "*:*"])
      let ftp = try await Curl.fetch("--proxy", passage.url, "ftp://device.example/file")
      #expect(try ftp.problem().words.contains("Only http and https"))
      for url in [
        "ftp://device/", "http://user:secret@dev ice/", "http://b\u{FC}cher.example/", "http://device:99999/",
      ] {
        let result = try await BywayProcess.run(["request", "--link", passage.link, url])
        #expect(result.exitCode == 64, "\(url): \(result.errorText)")
        #expect(!result.errorText.contains("secret"), "\(result.errorText)")
      }
      await passage.stop()
    }

    @Test("without --allow only the origin is reached") func forbidden() async throws {
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

    @Test("--allow opens one host and port only") func allowed() async throws {
      let other = try await OriginServer()
      let neighbour = try await OriginServer()
      let passage = try await Passage(over: .unix, gateway: ["--allow", "\(other.endpoint)"])
      #expect(try await Curl.fetch("--proxy", passage.url, other.url + "/").status == 200)
      #expect(try await Curl.fetch("--proxy", passage.url, neighbour.url + "/").status == 403)
      await passage.stop()
      await other.stop()
      await neighbour.stop()
    }

    @Test("a request that returns to its own proxy ends with 508") func loop() async throws {
      let port = try Endpoint.freePort()
      let folder = try TemporaryFolder()
      let gateway = try await BywayProcess.gateway([
        "--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:\(port)",
      ])
      let proxy = try await BywayProcess.proxy(["--link", "unix:\(folder["l"])", "--listen", "127.0.0.1:\(port)"])
      #expect(try await Curl.fetch("http://127.0.0.1:\(port)/").status == 508)
      await proxy.process.stop()
      await gateway.process.stop()
    }

    @Test(
      "ambiguous requests are refused",
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
