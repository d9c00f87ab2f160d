import TestPeers
import TestTools
import Testing

extension Interop {
  /// An origin that answers only under its own name, behind the whole chain.
  @Suite("Host names at the origin") struct OriginNameTests {
    private static func withOrigin(
      onUnix: Bool = false, _ options: [String], _ body: (Passage) async throws -> Void
    ) async throws {
      let folder = try TemporaryFolder()
      let server = try Script.strict.start(onUnix ? folder["s"] : "tcp")
      let port = try await server.outputLine(containing: "ready ", within: .seconds(20)).dropFirst("ready ".count)
      let passage = try await Passage(
        over: .unix, gateway: options, to: onUnix ? "unix:\(folder["s"])" : "http://127.0.0.1:\(port)")
      try await body(passage)
      await passage.stop()
      await server.stop()
    }

    @Test("by default the origin receives the client's host name, and may refuse it") func client() async throws {
      try await Self.withOrigin([]) { passage in
        let answer = try await Curl.fetch(passage.url)
        #expect(answer.status == 421)
      }
    }

    @Test("the origin receives its own name in Host, and in Origin and Referer of its own pages only")
    func requests() async throws {
      try await Self.withOrigin(["--host-field", "origin"]) { passage in
        let own = try await Curl.fetch(
          "-X", "POST", "-H", "Origin: \(passage.url)", "-H", "Referer: \(passage.url)/page", passage.url)
        #expect(own.status == 200, "\(own.text)")
        let host = own.text.split(separator: "\n").first { $0.hasPrefix("Host: ") }?.dropFirst("Host: ".count) ?? ""
        #expect(host.hasPrefix("127.0.0.1:") && host != passage.host)
        #expect(own.text.contains("referer: http://\(host)/page"))
        // The proxy command itself refuses foreign pages, but other clients of a gateway may not.
        let foreign = try await Curl.fetch(
          "--http2-prior-knowledge", "--unix-socket", passage.folder["l"], "-H", "Origin: http://evil.example",
          "http://device/")
        #expect(foreign.status == 403 && foreign.text.contains("http://evil.example is not"), "\(foreign.text)")
      }
    }

    @Test("the client receives its own name in every field that has the origin's name") func responses() async throws {
      try await Self.withOrigin(["--host-field", "origin"]) { passage in
        let answer = try await Curl.fetch("\(passage.url)/redirect")
        #expect(answer.values("location") == ["\(passage.url)/there"])
        #expect(answer.values("content-location") == ["\(passage.url)/here"])
        #expect(answer.values("refresh") == ["0; url=\(passage.url)/soon"])
        #expect(answer.values("link") == ["<\(passage.url)/next>; rel=next"])
        // An IP address has no subdomains.
        #expect(answer.values("set-cookie") == ["a=1; Path=/"])
        #expect(try await Curl.fetch("-L", "\(passage.url)/redirect").text.hasPrefix("GET /there "))
      }
    }

    @Test("an origin on a Unix socket has the name localhost, or the name from the option") func unix() async throws {
      for (option, status) in [("origin", 200), ("localhost", 200), ("other.example", 421)] {
        try await Self.withOrigin(onUnix: true, ["--host-field", option]) { passage in
          let answer = try await Curl.fetch(passage.url)
          #expect(answer.status == status)
        }
      }
    }

    @Test("a WebSocket opened by the site's own page works") func webSocket() async throws {
      for (options, status) in [(["--host-field", "origin"], "101"), ([], "421")] {
        try await Self.withOrigin(options) { passage in
          let request =
            "GET / HTTP/1.1\\r\\nHost: \(passage.host)\\r\\nOrigin: \(passage.url)\\r\\nConnection: Upgrade\\r\\n"
            + "Upgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\n\\r\\n"
          let answer = try await Script.http1.run(
            "raw", passage.host, "--text", request, "--deadline", "1", as: RawTextAnswer.self)
          #expect(answer.text.hasPrefix("HTTP/1.1 \(status) "), "\(answer.text)")
        }
      }
    }

    @Test(
      "an origin that compares case receives field names in their usual capitalization") func titleCase() async throws
    {
      for (options, name) in [(["--title-case"], "X-Serial"), ([], "x-serial")] {
        try await Self.withOrigin(options + ["--host-field", "origin"]) { passage in
          let answer = try await Curl.fetch("-H", "x-serial: 1", "-H", "if-none-match: \"a\"", passage.url)
          #expect(answer.text.contains("\n\(name): 1\n"), "\(answer.text)")
          #expect(answer.text.contains("\nIf-None-Match: ") == (name == "X-Serial"))
        }
      }
    }
  }
}
