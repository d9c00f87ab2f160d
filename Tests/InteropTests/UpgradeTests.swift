import TestPeers
import TestTools
import Testing

extension Interop {
  /// Requests that upgrade to protocols other than WebSocket.
  @Suite("Upgrades") struct UpgradeTests {
    /// The exit code and output of a command.
    private struct Answer: Decodable {
      let code: Int
      let output: String

      init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        code = try values.decode(Int.self)
        output = try values.decode(String.self)
      }
    }

    @Test(
      "docker and podman run, attach, copy, follow and execute as at podman's own socket",
      arguments: [true, false])
    func containers(hasGateway: Bool) async throws {
      let folder = try TemporaryFolder()
      let service = try Script.containers.start("serve", folder.path)
      _ = try await service.outputLine(containing: "ready", within: .seconds(20))
      let engine = "unix:\(folder["podman.sock"])"
      let link = hasGateway ? "unix:\(folder["l"])" : "\(engine)?http=1.1"
      let gateway = hasGateway ? try await BywayProcess.gateway(["--link", link, "--origin", engine]) : nil
      let proxy = try await BywayProcess.proxy(["--link", link, "--listen", "unix:\(folder["p"])"])

      let answers = try await Script.containers.run("use", folder.path, folder["p"], as: [String: Answer].self)
      for client in ["docker", "podman"] {
        for (command, code, output) in [
          ("run", 0, "hello\n"), ("run -i", 0, "one\ntwo\n"), ("run -it", 0, "name? Ann\r\nIt is Ann.\r\n"),
          ("exec", 3, "inside\n"), ("exec -i", 0, String(repeating: "x", count: 300_000)),
          ("attach", 0, "tick\ntick\ntick\n"), ("logs -f", 0, "tick\ntick\ntick\n"), ("cp", 0, "content\n"),
        ] {
          let answer = try #require(answers["\(client) \(command)"])
          // A program's message, if any, follows its output.
          #expect(answer.code == code && answer.output.hasPrefix(output), "\(client) \(command): \(answer)")
        }
      }
      await proxy.process.stop()
      await gateway?.process.stop()
      await service.stop()
    }

    private struct Spoken: Decodable {
      let head: String
      let echoed: Int
      let counted: Int
    }

    @Test("kubectl's SPDY passes a gateway, and each direction ends separately")
    func spdy() async throws {
      let folder = try TemporaryFolder()
      let server = try Script.spdy.start("serve", folder["o"])
      _ = try await server.outputLine(containing: "ready", within: .seconds(10))
      let link = "unix:\(folder["l"])"
      let gateway = try await BywayProcess.gateway(["--link", link, "--origin", "unix:\(folder["o"])"])
      let proxy = try await BywayProcess.proxy(["--link", link, "--listen", "127.0.0.1:0"])
      let address = try "\(proxy.endpoint())"

      let spoken = try await Script.spdy.run("use", address, "/api/exec?command=sh", as: Spoken.self)
      #expect(spoken.head.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"), "\(spoken.head)")
      #expect(spoken.head.contains("Upgrade: SPDY/3.1\r\nConnection: upgrade\r\n"))
      #expect(spoken.head.contains("x-stream-protocol-version: v4.channel.k8s.io\r\n"))
      #expect(!spoken.head.contains("byway-upgrade"))
      #expect(spoken.echoed == 600 && spoken.counted == 600)
      let declined = try await Script.spdy.run("use", address, "/api/old", as: Spoken.self)
      #expect(declined.head.hasPrefix("HTTP/1.1 200 OK\r\n"), "\(declined.head)")
      #expect(!declined.head.contains("byway-upgrade"))
      await proxy.process.stop()
      await gateway.process.stop()
      await server.stop()
    }

    @Test("another upgrade is refused unless it is allowed, and always for a foreign page")
    func refused() async throws {
      let bare = try await Passage(over: .unix)
      func ask(_ passage: Passage, _ fields: String...) async throws -> CurlAnswer {
        try await Curl.fetch(
          ["--http1.1", "-H", "Connection: Upgrade", "-X", "POST", passage.url + "/echo"]
            + fields.flatMap { ["-H", $0] })
      }
      let foo = try await ask(bare, "Upgrade: foo")
      #expect(try foo.problem().status == 501)
      #expect(try foo.problem().words.contains("--allow-upgrade"))
      #expect(try await ask(bare, "Upgrade: tcp", "Origin: http://evil.example").status == 403)
      #expect(try await ask(bare, "Upgrade: h2c").status == 200)
      await bare.stop()

      let atProxy = try await Passage(over: .unix, proxy: ["--allow-upgrade", "FOO"])
      #expect(try await ask(atProxy, "Upgrade: foo").status == 501)
      await atProxy.stop()
      let atBoth = try await Passage(
        over: .unix, gateway: ["--allow-upgrade", "foo"], proxy: ["--allow-upgrade", "FOO"])
      #expect(try await ask(atBoth, "Upgrade: foo").status == 200)
      await atBoth.stop()
    }
  }
}
