import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// Interceptors set by command options, between real clients and real origins.
  @Suite("Interceptors") struct InterceptionTests {
    private static let json =
      "[" + (0..<4000).map { "{\"id\":\($0),\"name\":\"sensor \($0 % 7)\"}" }.joined(separator: ",") + "]"

    @Test("--trace writes a HAR file of the exchanges without secrets") func trace() async throws {
      let files = try TemporaryFolder()
      let passage = try await Passage(
        over: .unix, gateway: ["--trace", files["far.har"]], proxy: ["--trace", files["near.har"]])
      _ = try await Curl.fetch("-u", "user:Sesame1", passage.url + "/?token=Sesame2")
      _ = try await Curl.fetch("-d", "password=Sesame3", passage.url + "/digest")
      // The file is complete when the command has ended.
      await passage.stop()
      for name in ["near.har", "far.har"] {
        let text = try String(contentsOfFile: files[name], encoding: .utf8)
        #expect(!text.contains("Sesame"), "\(name)")
        #expect(!text.contains(Data("user:Sesame1".utf8).base64EncodedString()), "\(name)")
        let archive = try JSONDecoder().decode(Archive.self, from: Data(text.utf8))
        #expect(archive.log.entries.map(\.request.method) == ["GET", "POST"])
        #expect(archive.log.entries.map(\.response.status) == [200, 200])
        let mode = try FileManager.default.attributesOfItem(atPath: files[name])[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try await HARCheck.problems(in: files[name]) == "")
      }
    }

    private struct Archive: Decodable {
      struct Log: Decodable { let entries: [Entry] }
      struct Entry: Decodable {
        let request: Request
        let response: Response
      }
      struct Request: Decodable { let method: String }
      struct Response: Decodable { let status: Int }
      let log: Log
    }

    @Test("--stub answers in place of the origin, at either end", arguments: [true, false])
    func stub(_ isNear: Bool) async throws {
      let files = try TemporaryFolder()
      let rules = try files.write("### GET /status\nHTTP/1.1 203\ncontent-type: text/plain\n\nstubbed\n", to: "stubs")
      let passage = try await Passage(
        over: .unix, gateway: isNear ? [] : ["--stub", rules], proxy: isNear ? ["--stub", rules] : [])
      let stubbed = try await Curl.fetch(passage.url + "/status")
      #expect(stubbed.status == 203)
      #expect(stubbed.text.hasPrefix("stubbed"))
      #expect(try await Curl.fetch(passage.url + "/").status == 200)
      await passage.stop()
    }

    @Test("--record and then --replay answer without an origin") func replay() async throws {
      let files = try TemporaryFolder()
      let passage = try await Passage(over: .unix, proxy: ["--record", files["recordings"]])
      let first = try await Curl.fetch(passage.url + "/bytes?size=300000")
      #expect(first.body.count == 300_000)
      await passage.stop()
      let alone = try await BywayProcess.proxy([
        "--link", "unix:\(files["nowhere"])", "--listen", passage.host, "--replay", files["recordings"],
      ])
      #expect(try await Curl.fetch(passage.url + "/bytes?size=300000").body == first.body)
      let other = try await Curl.fetch(passage.url + "/other")
      #expect(other.status == 503)
      #expect(try other.problem().words.contains("record it"))
      await alone.process.stop()
    }

    @Test("--cache serves fresh responses without the link, also after a restart") func cache() async throws {
      let files = try TemporaryFolder()
      let site = try TemporaryFolder()
      try site.write("kept", to: "a.txt")
      let nginx = try await NginxServer(in: site, locations: "location = /a.txt { expires 1h; }")
      let cache = ["--cache", files["cache"]]
      let passage = try await Passage(over: .unix, proxy: cache, to: "http://\(nginx.endpoint)")
      let stored = try await Curl.fetch(passage.url + "/a.txt").values("cache-status")
      #expect(stored == ["byway; fwd=miss; fwd-status=200"])
      await passage.stop()
      await nginx.stop()
      let alone = try await BywayProcess.proxy(["--link", passage.link, "--listen", passage.host] + cache)
      let answer = try await Curl.fetch(passage.url + "/a.txt")
      #expect(answer.text == "kept")
      #expect(answer.values("cache-status").first?.hasPrefix("byway; hit") == true)
      let second = try await BywayProcess.run(
        ["proxy", "--link", "unix:\(files["nowhere"])", "--listen", "127.0.0.1:0"] + cache)
      EndToEnd.expect(second, code: 73, words: ["cache", "another process"])
      await alone.process.stop()
      // Another link leads to another device.
      let elsewhere = try await BywayProcess.proxy(
        ["--link", "unix:\(files["nowhere"])", "--listen", passage.host, "--link-timeout", "0.2"] + cache)
      #expect(try await Curl.fetch(passage.url + "/a.txt").status == 503)
      await elsewhere.process.stop()
    }

    @Test(
      "--auth logs in with Digest and Basic at httpd, at either end, and logs no password", arguments: [true, false])
    func auth(_ isNear: Bool) async throws {
      let files = try TemporaryFolder()
      let site = try TemporaryFolder()
      let httpd = try await ApacheServer(in: site)
      let logins = try files.write(
        "machine elsewhere login x password y\nmachine 127.0.0.1\n  login \(ApacheServer.user)\n"
          + "  password \"\(ApacheServer.password)\"\n", to: "netrc")
      chmod(logins, 0o600)
      let flags = ["--auth", logins, "--log-level", "trace", "--trace", files["t.har"]]
      let passage = try await Passage(
        over: .unix, gateway: isNear ? [] : flags, proxy: isNear ? flags : [], to: "http://\(httpd.endpoint)")
      for path in ["digest", "basic", "digest"] {
        let answer = try await Curl.fetch("\(passage.url)/\(path)")
        #expect(answer.status == 200)
        #expect(answer.text == "behind \(path)\n")
      }
      await passage.stop()
      await httpd.stop()
      let secrets = [
        ApacheServer.password, Data("\(ApacheServer.user):\(ApacheServer.password)".utf8).base64EncodedString(),
      ]
      let told = try [
        passage.proxy.log, passage.gateway?.log ?? "", String(contentsOfFile: files["t.har"], encoding: .utf8),
      ]
      for text in told { #expect(!secrets.contains { text.contains($0) }) }
    }

    @Test(
      "--auth logs in with the first POST if its body is short or awaited, else with the second",
      arguments: [true, false])
    func firstPost(_ isNear: Bool) async throws {
      let files = try TemporaryFolder()
      let site = try TemporaryFolder()
      let origin = try await OriginServer()
      let users = try site.write("u:{PLAIN}Sesame\n", to: "users")
      let nginx = try await NginxServer(
        in: site,
        locations: "location / { auth_basic x; auth_basic_user_file \(users); proxy_pass \(origin.url); }")
      let logins = try files.write("machine 127.0.0.1 login u password Sesame\n", to: "netrc")
      chmod(logins, 0o600)
      let long = try MarkedFile(at: files["long"], size: 3_000_000)
      func send(_ path: String, _ posts: [[String]]) async throws -> [CurlAnswer] {
        let flags = ["--auth", logins]
        let passage = try await Passage(
          over: .unix, gateway: isNear ? [] : flags, proxy: isNear ? flags : [], to: "http://\(nginx.endpoint)")
        var answers: [CurlAnswer] = []
        for post in posts { answers.append(try await Curl.fetch(post + [passage.url + path])) }
        await passage.stop()
        return answers
      }
      let short = try await send("/digest", [["-d", "a=1"]])
      #expect(short.map(\.status) == [200])
      #expect(try short.first?.json(Upload.self).length == 3)
      // curl waits for 100 Continue before it sends the body, and nginx responds at once.
      let awaited = try await send("/digest", [["-H", "Expect: 100-continue", "-T", long.path]])
      #expect(awaited.map(\.status) == [200])
      #expect(try awaited.first?.json(Upload.self).length == 3_000_000)
      // The outcome depends on how much was sent when nginx responds.
      let hasty = try await send("/digest", Array(repeating: ["-H", "Expect:", "-T", long.path], count: 2))
      #expect([200, 401].contains(hasty.first?.status), "\(hasty.first?.text as Any)")
      #expect(hasty.last?.status == 200)
      #expect(try hasty.last?.json(Upload.self).length == 3_000_000)
      await nginx.stop()
      await origin.stop()
    }

    @Test("--compress reduces the bytes on the link, and changes no response") func compress() async throws {
      let site = try TemporaryFolder()
      try site.write(Self.json, to: "a.json")
      try site.write(Self.json, to: "a.png")
      let nginx = try await NginxServer(in: site, locations: "types { application/json json; image/png png; }")
      let plain = try await Curl.fetch("http://\(nginx.endpoint)/a.json")
      let passage = try await Passage(
        over: .unix, gateway: ["--compress"], proxy: ["--compress"], to: "http://\(nginx.endpoint)")
      for options in [[], ["-r", "100-90000"], ["-H", "If-None-Match: \(plain.values("etag").first ?? "")"], ["-I"]] {
        let direct = try await Curl.fetch(options + ["http://\(nginx.endpoint)/a.json"])
        let answer = try await Curl.fetch(options + [passage.url + "/a.json"])
        #expect(answer.status == direct.status)
        if options != ["-I"] { #expect(answer.body == direct.body) }
        for name in ["etag", "content-length", "content-range", "content-type", "content-encoding"] {
          #expect(answer.values(name) == direct.values(name), "\(name) of \(options)")
        }
      }
      // A client with the proxy's fields sees the bytes on the link.
      let link = ["--http2-prior-knowledge", "--unix-socket", passage.folder["l"], "-H", "byway-accept-coding: gzip"]
      let coded = try await Curl.fetch(link + ["http://device/a.json"])
      #expect(coded.values("byway-coding") == ["gzip"])
      #expect(coded.body.count * 4 < Self.json.utf8.count)
      let image = try await Curl.fetch(link + ["http://device/a.png"])
      #expect(image.values("byway-coding") == [])
      #expect(image.body.count == Self.json.utf8.count)
      await passage.stop()
      await nginx.stop()
    }

    @Test("--compress compresses uploads on the link") func upload() async throws {
      let passage = try await Passage(over: .unix, gateway: ["--compress"], proxy: ["--compress"])
      for _ in 0..<2 {
        let answer = try await Curl.fetch(
          "-H", "content-type: application/json", "--data-binary", Self.json, passage.url + "/digest")
        #expect(try answer.json(Upload.self).length == Self.json.utf8.count)
      }
      await passage.stop()
    }

    @Test("folders that others can write to are refused with advice") func folders() async throws {
      let files = try TemporaryFolder()
      let open = files["open"]
      try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
      chmod(open, 0o777)
      for (flag, code) in [("--cache", 73), ("--record", 73), ("--replay", 66)] as [(String, Int32)] {
        let result = try await BywayProcess.run(
          ["proxy", "--link", "unix:\(files["l"])", "--listen", "127.0.0.1:0", flag, open])
        EndToEnd.expect(result, code: code, words: ["Others can write to \(open)", "chmod go-w"])
      }
    }

    @Test("--cache does not share a user's page on a port, and shares it on a user's own socket")
    func users() async throws {
      let files = try TemporaryFolder()
      let stubs = try files.write(
        "### GET /\nHTTP/1.1 200\ncache-control: max-age=1000\n\nAlice's page\n", to: "stubs")
      let gateway = try await BareGateway(["--stub", stubs])
      func answers(_ listen: String, _ way: [String]) async throws -> [String] {
        let proxy = try await BywayProcess.proxy([
          "--link", "unix:\(gateway.socket)", "--listen", listen, "--cache", files["cache-\(way.count)"],
        ])
        let place = try way.isEmpty ? ["http://\(proxy.endpoint())/"] : way + ["http://localhost/"]
        var statuses: [String] = []
        for login in [["-u", "alice:x"], [], ["-u", "alice:wrong"]] {
          let answer = try await Curl.fetch(login + place)
          statuses.append(String((answer.values("cache-status").first ?? "").prefix(11)))
          // A save in progress leaves a body without a head, or a head with a temporary name.
          let isSaved = try await eventually {
            let names = try FileManager.default.contentsOfDirectory(atPath: files["cache-\(way.count)"])
            let bodies = names.count { $0.hasSuffix(".body") }
            return bodies == names.count { $0.hasSuffix(".head") } && !names.contains { $0.hasSuffix(".new") }
          }
          #expect(isSaved)
        }
        await proxy.process.stop()
        return statuses
      }
      #expect(try await answers("127.0.0.1:0", []) == ["byway; fwd=", "byway; fwd=", "byway; hit;"])
      let socket = files["own"]
      let own = try await answers("unix:\(socket)?mode=0600", ["--unix-socket", socket])
      let kept = try FileManager.default.contentsOfDirectory(atPath: files["cache-2"])
      #expect(own == ["byway; fwd=", "byway; hit;", "byway; hit;"], "\(kept)")
      await gateway.stop()
    }

    @Test("byway request -v escapes control sequences in an origin's fields") func terminal()
      async throws
    {
      let files = try TemporaryFolder()
      let stubs = try files.write("### GET /\nHTTP/1.1 200\nx-note: a\u{9B}31m\u{202E}b\n\nbody\n", to: "stubs")
      let gateway = try await BareGateway(["--stub", stubs])
      let result = try await BywayProcess.run(["request", "--link", "unix:\(gateway.socket)", "-v", "/"])
      #expect(result.errorText.contains("x-note: a?31m?b"), "\(result.errorText)")
      await gateway.stop()
    }

    @Test("an invalid interceptor option is reported at the start") func mistakes() async throws {
      let files = try TemporaryFolder()
      let open = try files.write("machine a login b password Sesame", to: "open")
      let wrong = try files.write("machine a login b Sesame", to: "wrong")
      chmod(wrong, 0o600)
      let stubs = try files.write("GET /\n", to: "stubs")
      for (flags, code, words) in [
        (["--trace", "/nowhere/a.har"], 73, ["Cannot create /nowhere/a.har"]),
        (["--stub", stubs], 64, [stubs, "line 1"]),
        (["--replay", files["none"]], 66, ["Cannot read"]),
        (["--record", files["a"], "--replay", files["b"]], 64, ["--record and --replay"]),
        (["--auth", open], 66, ["others may read", "chmod 600"]),
        (["--auth", wrong], 64, ["line 1", "password PASSWORD"]),
      ] as [([String], Int32, [String])] {
        let link = ["--link", "unix:\(files["l"])"]
        for role in [
          ["proxy", "--listen", "127.0.0.1:0"] + link, ["gateway", "--origin", "http://127.0.0.1:1"] + link,
        ] {
          let result = try await BywayProcess.run(role + flags)
          EndToEnd.expect(result, code: code, words: words)
          #expect(!result.errorText.contains("Sesame"))
        }
      }
    }
  }
}
