import BywayLineEmulation
import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// The program byway-gateway, compared with `byway gateway`.
  @Suite("Small gateway") struct SmallGatewayTests {
    @Test("serves requests on a Unix socket") func unix() async throws {
      let small = try await SmallGateway()
      let answer = try await small.curl("http://device/digest", "-T", "/etc/hostname")
      #expect(answer.status == 200)
      #expect(try await small.curl("http://device/bytes?size=100000").body.count == 100_000)
      await small.stop()
    }

    @Test("serves requests on the stdio of a process that a proxy starts") func stdio() async throws {
      let folder = try TemporaryFolder()
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let link = try "exec:\(BywayProcess.smallGateway()) --link stdio: --origin \(origin.endpoint)"
      let result = try await BywayProcess.run(["request", "--link", link, "http://device/bytes?size=1000"])
      #expect(result.exitCode == 0, "\(result.errorText)")
      #expect(result.output.count == 1000)
      await origin.stop()
    }

    @Test("serves requests on a serial line that damages data") func serial() async throws {
      let line = try SerialLine(LineConfiguration(baud: 921_600, faults: [BitFlips(rate: 1e-5)]))
      let folder = try TemporaryFolder()
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let gateway = try await BywayProcess.smallGateway(["--link", line.far, "--origin", "\(origin.endpoint)"])
      let result = try await BywayProcess.run(["request", "--link", line.near, "http://device/bytes?size=20000"])
      #expect(result.exitCode == 0, "\(result.errorText)")
      #expect(result.output.count == 20_000)
      await gateway.process.stop()
      await origin.stop()
    }

    @Test("finishes running requests after SIGTERM, accepts no more, and exits with 0") func terminate() async throws {
      let small = try await SmallGateway()
      let running = try (0..<4).map { _ in try small.startCurl("http://device/slow-body?count=20&ms=100") }
      try await EndToEnd.waitUntil("the responses have begun") { running.allSatisfy { !$0.output.isEmpty } }
      small.gateway.terminate()
      try await EndToEnd.waitUntil("the socket is gone") { !FileManager.default.fileExists(atPath: small.socket) }
      for client in running {
        #expect(await client.waitForExit(within: .seconds(20)) == .code(0), "\(client.errorText)")
        await client.waitForOutput(within: .seconds(10))
        #expect(client.output.count == 20)
      }
      #expect(await small.gateway.process.waitForExit(within: .seconds(20)) == .code(0))
      await small.stop()
    }

    @Test("aborts a request that outlasts the drain time, and exits with 0") func drain() async throws {
      let small = try await SmallGateway(["--drain", "0.5"])
      let running = try small.startCurl("http://device/slow-body?count=1000&ms=100")
      try await EndToEnd.waitUntil("the response has begun") { !running.output.isEmpty }
      small.gateway.terminate()
      #expect(await small.gateway.process.waitForExit(within: .seconds(10)) == .code(0))
      #expect(await running.waitForExit(within: .seconds(10)) != .code(0))
      await small.stop()
    }

    @Test("keeps running at SIGHUP, and logs that there is nothing to read again") func hangUp() async throws {
      let small = try await SmallGateway()
      small.gateway.process.send(SIGHUP)
      _ = try await small.gateway.process.errorLine(containing: "SIGHUP changes nothing", within: .seconds(10))
      #expect(try await small.curl("http://device/").status == 200)
      await small.stop()
    }

    @Test("notifies systemd that it is ready, with its requests, and that it stops") func notices() async throws {
      let folder = try TemporaryFolder()
      let inbox = try NotificationInbox(folder["n"])
      let small = try await SmallGateway(["--drain", "3"], environment: ["NOTIFY_SOCKET": inbox.name])
      #expect(try await inbox.next().contains("READY=1\nSTATUS=0 of 1 links up, 0 requests, 0 running"))
      small.gateway.terminate()
      #expect(try await inbox.next { $0.contains("STOPPING=1") }.contains("EXTEND_TIMEOUT_USEC=8000000"))
      #expect(await small.gateway.process.waitForExit(within: .seconds(10)) == .code(0))
      await small.stop()
    }

    @Test("logs peers at its usual level, and not with --log-level error") func logLevel() async throws {
      for (options, isLogged) in [([], true), (["--log-level", "error"], false)] {
        let small = try await SmallGateway(options)
        #expect(try await small.curl("http://device/").status == 200)
        await small.stop()
        await small.gateway.process.waitForOutput(within: .seconds(10))
        #expect(small.gateway.process.errorText.contains("Accepted a peer") == isLogged)
      }
    }

    @Test("states its name, and applies the rules of the command") func rules() async throws {
      let small = try await SmallGateway(["--name", "printer", "--title", "Printer in the hall", "--forwarded"])
      #expect(try await small.curl("http://device/.well-known/byway").text.contains("Printer in the hall"))
      #expect(try await small.curl("http://other.example:81/", "-X", "CONNECT").status != 200)
      await small.stop()
    }

    @Test(
      "reports an error in the words and with the exit status of the command",
      arguments: [
        [], ["--link", "unix:/tmp/x"], ["--origin", "80"], ["--link"], ["--link", "--origin", "80"], ["extra"],
        ["--lnk", "unix:/tmp/x"], ["--title-case=yes"], ["--drain", "soon"], ["--log-level", "loud"],
        ["--log-format", "xml"], ["--max-connections", "many"], ["--memory-budget", "1"], ["--memory-budget", "big"],
        ["--link", "unix:/tmp/x", "--origin", "80", "--origin", "81"],
        ["--link", "unix:/tmp/x", "--origin", "80", "--max-connections", "0"],
        ["--link", "unix:/tmp/x", "--origin", "80", "--title", "Printer"],
        ["--link", "unix:/tmp/x", "--origin", "80", "--name", "no name"],
        ["--link", "unix:/tmp/x", "--origin", "80", "--allow", "a b"],
        ["--link", "unix:/tmp/x", "--origin", "80", "--trust", "/etc/hostname"],
        ["--link", "unix:/tmp/x", "--origin", "https://a", "--client-cert", "/etc/hostname"],
        ["--link", "unix:/tmp/x", "--origin", "ftp://a"], ["--link", "unix:/tmp/x", "--origin", "/run/x"],
        ["--link", "unix:/tmp/x?http=1.1", "--origin", "80"], ["--link", "/dev/ttyS9", "--origin", "80"],
        ["--link", "8080", "--origin", "80"], ["--link", "tcp://0.0.0.0:0", "--origin", "80"],
        ["--log-format", "json", "--link", "unix:/tmp/x"],
      ])
    func errors(_ arguments: [String]) async throws {
      let small = try await Program.run(BywayProcess.smallGateway(), arguments)
      let full = try await BywayProcess.run(["gateway"] + arguments)
      #expect(Self.words(small) == Self.words(full))
      #expect(small.exitCode == full.exitCode && small.exitCode != 0)
    }

    /// Returns the message without what names the program, and without the time of a line of JSON.
    private static func words(_ result: CommandResult) -> String {
      result.errorText.replacing("byway-gateway --help", with: "byway help gateway")
        .replacing(/"time":"[^"]*"/, with: "")
    }

    @Test(
      "names what only the command has",
      arguments: [
        (["--compress"], "use the command byway"), (["--metrics=9464"], "use the command byway"),
        (["--link", "ssh://host", "--origin", "80"], "built without links of ssh:"),
        (["--link", "printer", "--origin", "80"], "is not an address"),
      ])
    func omitted(_ arguments: [String], _ words: String) async throws {
      EndToEnd.expect(
        try await Program.run(BywayProcess.smallGateway(), arguments), code: 64, words: [words, "byway"])
    }

    @Test("reports a socket that it cannot create, and exits with 69") func noFolder() async throws {
      let result = try await Program.run(
        BywayProcess.smallGateway(), ["--link", "unix:/nowhere/x", "--origin", "80"])
      EndToEnd.expect(result, code: 69, words: ["/nowhere"])
    }

    @Test("prints its version and its help on standard output") func answers() async throws {
      let version = try await Program.run(BywayProcess.smallGateway(), ["--version"])
      #expect(version.exitCode == 0 && version.text.hasPrefix("byway-gateway "))
      let help = try await Program.run(BywayProcess.smallGateway(), ["--link", "unix:/tmp/x", "--help"])
      #expect(help.exitCode == 0 && help.text.contains("--max-connections <count>") && help.text.contains("serial:"))
      #expect(help.text.hasSuffix("  -h, --help\n      Show this help.\n"))
    }

    @Test("exits with 0 if its help has no reader") func unreadHelp() async throws {
      let script = #""$1" --help | :; exit "${PIPESTATUS[0]}""#
      let result = try await Program.run("/bin/bash", ["-c", script, "bash", BywayProcess.smallGateway()])
      #expect(result.exitCode == 0)
    }

    @Test("takes the options of the command, and uses their values") func values() async throws {
      let folder = try TemporaryFolder()
      let gateway = try ChildProcess(
        BywayProcess.smallGateway(),
        [
          "--link=unix:\(folder["l"])", "--origin=unix:\(folder["o"])", "--log-level=debug", "--log-format", "json",
          "--memory-budget", "2M", "--host-field", "origin", "--connect-timeout", "3", "--response-timeout=4",
          "--body-timeout=5", "--allow", "example.org:443", "--allow-upgrade", "spdy", "--title-case",
          "--max-connections", "8",
        ])
      let ready = try await gateway.errorLine(containing: "\"Ready\"", within: .seconds(10))
      #expect(ready.contains("\"listens\":\"unix:\(folder["l"])\""))
      #expect(await gateway.stop(within: .seconds(10)) == .code(0))
    }
  }
}

/// An origin with the small gateway in front of it.
private struct SmallGateway: Sendable {
  let folder: TemporaryFolder
  let origin: OriginServer
  let gateway: BywayProcess
  let socket: String

  init(_ options: [String] = [], environment: [String: String] = [:]) async throws {
    folder = try TemporaryFolder()
    socket = folder["l"]
    origin = try await OriginServer(on: .unix(folder["o"]))
    gateway = try await .smallGateway(
      ["--link", "unix:\(socket)", "--origin", "\(origin.endpoint)"] + options,
      environment: environment)
  }

  /// Starts a request whose response the returned process prints as it arrives.
  func startCurl(_ url: String) throws -> ChildProcess {
    try ChildProcess(
      Program.curl.path(), ["-q", "-sSN", "--http2-prior-knowledge", "--unix-socket", socket, url])
  }

  func curl(_ arguments: String...) async throws -> CurlAnswer {
    try await Curl.fetch(["--http2-prior-knowledge", "--unix-socket", socket] + arguments)
  }

  func stop() async {
    await gateway.process.stop()
    await origin.stop()
  }
}
