import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// A hub whose users log in by certificate, by password or through a reverse proxy, with their own devices.
  @Suite("Users") struct UserTests {
    @Test("each user reaches only their devices, the log has the users, and a reload changes rights")
    func hub() async throws {
      let hub = try await Hub()
      for (user, mine, other) in [
        ("alice", "printer", "camera"), ("bob", "camera", "printer"), ("carol", "printer", "camera"),
        ("dave", "camera", "printer"),
      ] {
        for version in ["--http1.1", "--http2"] {
          let answer = try await hub.fetch(mine, as: user, version)
          #expect(answer.status == 200 && answer.text.hasPrefix("this is the \(mine)"), "\(user): \(answer.text)")
          #expect(answer.version == (version == "--http2" ? "2" : "1.1"))
        }
        let refused = try await hub.fetch(other, as: user)
        #expect(refused.status == 403 && !refused.text.contains("this is"), "\(user): \(refused.text)")
        let nothing = try await hub.fetch("nothing", as: user)
        #expect(nothing.text.replacing("nothing", with: other) == refused.text)
        let list = try await hub.fetch("byway", "/devices.json", as: user)
        #expect(list.text.contains("https://\(mine).devices.example") && !list.text.contains(other), "\(list.text)")
      }
      for unknownPeer in [hub.anyone, hub.login("carol", "wrong"), hub.certificate(hub.device)] {
        let answer = try await hub.fetch("printer", with: unknownPeer)
        #expect(
          answer.status == 401 && answer.values("www-authenticate") == [#"Basic realm="Devices", charset="UTF-8""#])
      }
      // A certificate from another authority is refused, even where none is required.
      let forged = try await hub.certificates.selfSigned("alice", names: "email:alice")
      #expect(try await hub.fetch("printer", with: hub.certificate(forged)).exitCode != 0)
      let foreign = try await hub.fetch("printer", as: "carol", "-d", "x", "-H", "Origin: https://evil.example")
      #expect(foreign.status == 403)

      try hub.folder.write("alice = camera\ndave = printer camera\n", to: "rights")
      hub.proxy.process.send(SIGHUP)
      try await EndToEnd.waitUntil("the reload") { hub.proxy.log.contains("Reloaded") }
      #expect(try await hub.fetch("printer", as: "alice").status == 403)
      #expect(try await hub.fetch("camera", as: "alice").status == 200)
      #expect(try await hub.fetch("printer", as: "dave").status == 200)
      // An invalid file changes nothing.
      try hub.folder.write("alice = camera\nalice = printer\n", to: "rights")
      hub.proxy.process.send(SIGHUP)
      try await EndToEnd.waitUntil("the refusal") {
        hub.proxy.log.contains("rights, line 2: alice has its line already")
      }
      #expect(try await hub.fetch("camera", as: "alice").status == 200)
      await hub.stop()
      try hub.checkLogs()
    }

    @Test("only a reverse proxy on a Unix socket can identify the user by a field")
    func header() async throws {
      let hub = try await Hub(
        listen: { "unix:\($0["proxy"])" }, options: ["--user-header", "X-Remote-User"], users: false)
      func fetch(_ device: String, _ more: String...) async throws -> CurlAnswer {
        try await Curl.fetch(["--unix-socket", hub.folder["proxy"], "http://\(device).devices.example/"] + more)
      }
      #expect(try await fetch("printer", "-H", "X-Remote-User: alice").text.hasPrefix("this is the printer"))
      #expect(try await fetch("camera", "-H", "X-Remote-User: alice").status == 403)
      #expect(try await fetch("printer").status == 403)
      #expect(try await fetch("printer", "-H", "X-Remote-User: alice", "-H", "x-remote-user: bob").status == 400)
      #expect(try await fetch("printer", "-H", "X_Remote_User: alice").status == 403)
      await hub.stop()
    }

    @Test("passwords on an unencrypted address, and rights without a way to identify users, are refused")
    func mistakes() async throws {
      let folder = try TemporaryFolder()
      let rights = try folder.write("alice = printer\n", to: "rights")
      let users = try folder.write("alice:secret\n", to: "users")
      chmod(users, 0o600)
      let device = ["proxy", "--check", "--device", "printer=unix:\(folder["p"])"]
      for (options, code, words) in [
        (["--listen", "127.0.0.1:0", "--rights", rights], 64, ["needs a way to identify users", "--users"]),
        (["--listen", "127.0.0.1:0", "--users", users], 64, ["needs --rights FILE"]),
        (
          ["--listen", "0.0.0.0:0", "--listen-anywhere", "--rights", rights, "--users", users], 64,
          ["could be read on the way", "https://"]
        ),
        (["--listen", "127.0.0.1:0", "--rights", rights, "--user-header", "X-User"], 64, ["Unix socket only"]),
        (
          ["--listen", "127.0.0.1:0", "--rights", rights, "--users", users], 66,
          ["users, line 1", "htpasswd -B -C 10 alice"]
        ),
      ] as [([String], Int32, [String])] {
        let result = try await BywayProcess.run(device + options)
        EndToEnd.expect(result, code: code, words: words)
        #expect(!result.errorText.contains("secret"))
      }
    }
  }

  /// A proxy with users, and a printer and a camera that dial it.
  private struct Hub {
    let folder: TemporaryFolder
    let certificates: Certificates
    let server: Certificates.Identity
    let device: Certificates.Identity
    let people: [String: Certificates.Identity]
    let gateways: [BywayProcess]
    let proxy: BywayProcess

    static let rights = """
      alice = printer
      bob@example.org = camera
      carol = printer
      dave = cam*
      """

    init(
      listen: ((TemporaryFolder) -> String)? = nil, options: [String] = [], users: Bool = true
    ) async throws {
      folder = try TemporaryFolder()
      certificates = try await Certificates()
      server = try await certificates.issue("hub", names: "DNS:*.devices.example")
      device = try await certificates.issue("printer", names: "DNS:printer")
      people = [
        "alice": try await certificates.issue(person: "/O=Example/CN=alice"),
        "bob": try await certificates.issue(person: "/CN=somebody", names: "email:bob@example.org"),
      ]
      let link = "unix:\(folder["hub"])"
      let rights = try folder.write(Self.rights, to: "rights")
      var arguments = [
        "--hub", link, "--suffix", "devices.example", "--rights", rights, "--audit-log", folder["audit.log"],
        "--access-log", folder["access.log"], "--trace", folder["trace.har"], "--log-level", "trace",
      ]
      if users {
        for (user, option) in [("carol", "-cbB"), ("dave", "-bB")] {
          let made = try await Program.htpasswd.run([option, "-C", "5", folder["users"], user, "secret-\(user)"])
          guard made.exitCode == 0 else { throw PeerFailure("htpasswd: \(made.errorText)") }
        }
        chmod(folder["users"], 0o600)
        arguments += ["--users", folder["users"]]
      }
      let address =
        listen.map { [folder] in $0(folder) }
        ?? "https://127.0.0.1:0?\(server.options)&ca=\(certificates.authority)"
      proxy = try await BywayProcess.proxy(arguments + ["--listen", address] + options)
      var gateways: [BywayProcess] = []
      for name in ["printer", "camera"] {
        let stub = try folder.write(
          "### GET /\nHTTP/1.1 200\ncontent-type: text/plain\n\nthis is the \(name)\n", to: name)
        gateways.append(
          try await BywayProcess.gateway([
            "--link", "\(link)?open=dial", "--name", name, "--origin", "http://127.0.0.1:1", "--stub", stub,
          ]))
      }
      self.gateways = gateways
      let proxy = proxy
      try await EndToEnd.waitUntil("both devices are there") {
        proxy.log.components(separatedBy: "Link open").count > 2
      }
    }

    var anyone: [String] { [] }
    func login(_ user: String, _ password: String) -> [String] { ["-u", "\(user):\(password)"] }
    func certificate(_ identity: Certificates.Identity) -> [String] {
      ["--cert", identity.cert, "--key", identity.key]
    }

    func fetch(_ device: String, _ path: String = "/", as user: String, _ more: String...) async throws -> CurlAnswer {
      let more = path.hasPrefix("/") ? more : [path] + more
      let path = path.hasPrefix("/") ? path : "/"
      return try await fetch(
        device, path, with: (people[user].map(certificate) ?? login(user, "secret-\(user)")) + more)
    }

    func fetch(_ device: String, _ path: String = "/", with more: [String]) async throws -> CurlAnswer {
      let port = try proxy.endpoint().port ?? 0
      return try await Curl.fetch(
        [
          "--cacert", certificates.authority, "--connect-to", "::127.0.0.1:\(port)",
          "https://\(device).devices.example\(path)",
        ] + more)
    }

    func stop() async {
      #expect(await proxy.process.stop() == .code(0))
      for gateway in gateways { await gateway.process.stop() }
    }

    func checkLogs() throws {
      let audit = try String(contentsOfFile: folder["audit.log"], encoding: .utf8)
      for user in ["alice", "bob@example.org", "carol", "dave"] {
        #expect(audit.contains("\"event\":\"began\",\"user\":\"\(user)\""), "\(audit)")
        #expect(audit.contains("\"event\":\"ended\",\"user\":\"\(user)\""), "\(audit)")
        #expect(audit.contains("\"reason\":\"no right\",\"user\":\"\(user)\""), "\(audit)")
      }
      #expect(
        audit.contains("\"reason\":\"wrong login\",\"user\":\"carol\",\"device\":\"printer\",\"peer\":\"127.0.0.1\""))
      #expect(try folder.permissions(of: "audit.log") == 0o640)
      let access = try String(contentsOfFile: folder["access.log"], encoding: .utf8)
      #expect(access.contains("127.0.0.1 - bob@example.org [") && access.contains("127.0.0.1 - - ["))
      for file in ["audit.log", "access.log", "trace.har"] {
        let text = try String(contentsOfFile: folder[file], encoding: .utf8)
        for secret in ["secret-", Data("carol:secret-carol".utf8).base64EncodedString()] {
          #expect(!text.contains(secret), "\(file)")
        }
      }
      #expect(!proxy.log.contains("secret-"))
    }
  }
}
