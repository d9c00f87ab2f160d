import BywayPrimitives
import Foundation
import TestPeers
import TestTools
import Testing

/// Commands that query and control running daemons.
@Suite("Control of daemons", .cleansUp) struct ControlTests {
  /// A user with their own gateway and proxy.
  private final class Home: Sendable {
    let folder: TemporaryFolder
    let environment: [String: String]
    let file: String

    init() throws {
      folder = try TemporaryFolder()
      environment = ["XDG_RUNTIME_DIR": folder.path, "RUNTIME_DIRECTORY": ""]
      file = try folder.write("origin = http://127.0.0.1:1\nlink = unix:\(folder["l"])\n", to: "hall.conf")
    }

    func gateway(_ arguments: [String] = []) async throws -> BywayProcess {
      try await ending(BywayProcess.gateway(["--config", file] + arguments, environment: environment))
    }

    func proxy(_ arguments: [String]) async throws -> BywayProcess {
      try await ending(
        BywayProcess.proxy(
          arguments + ["--listen", "unix:\(folder["p"])", "--instance", "desk"], environment: environment))
    }

    private func ending(_ daemon: BywayProcess) -> BywayProcess {
      _ = Ending { await daemon.process.stop() }
      return daemon
    }

    func run(_ arguments: String...) async throws -> CommandResult {
      try await BywayProcess.run(arguments, environment: environment)
    }

    func status(_ name: String) async throws -> JSON {
      let result = try await run("status", name, "--json")
      #expect(result.exitCode == 0, "\(result.errorText)")
      return try #require(JSON(parsing: result.outputText))
    }

    func socketStatus() throws -> stat {
      var status = stat()
      #expect(lstat(folder["byway/hall/control.sock"], &status) == 0)
      return status
    }
  }

  private static let schema = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../../docs/status.schema.json")

  @Test("byway status conforms to its schema, and counts a failed request by its kind")
  func status() async throws {
    let home = try Home()
    _ = try await home.gateway()
    _ = try await home.proxy(["--link", "unix:\(home.folder["l"])"])
    let answer = try await Program.curl.run(["-s", "--unix-socket", home.folder["p"], "http://localhost/"])
    #expect(answer.exitCode == 0)
    let schema = try #require(
      JSON(parsing: try String(contentsOf: Self.schema, encoding: .utf8)))
    for name in ["hall", "desk"] {
      let status = try await home.status(name)
      #expect(SchemaCheck(schema).problems(of: status) == [])
      #expect(status["requests"]?["failed"]?["originUnavailable"] == (name == "hall" ? .number(1) : nil))
    }
    let hall = try await home.status("hall")
    let member = hall["members"]?.elements.first
    #expect(member?["origins"]?.elements.first?["state"]?.text == "unreachable")
    #expect(member?["links"]?.elements.first?["state"]?.text == "up")
    let link = try await home.status("desk")["members"]?.elements.first?["links"]?.elements.first
    #expect(link?["state"]?.text == "up" && link?["roundTripNanoseconds"] != nil)

    let text = try await home.run("status").outputText
    #expect(text.contains("hall: gateway "), "\(text)")
    #expect(text.contains("origin http://127.0.0.1:1: unreachable, Nothing listens at"), "\(text)")
    #expect(text.contains("1 failed (1 originUnavailable)"), "\(text)")
  }

  @Test("a gateway that a hub refuses, and the hub, show the reason in byway status, its JSON and the inspector")
  func refused() async throws {
    let home = try Home()
    let hub = "unix:\(home.folder["hub"])"
    _ = try await home.proxy(["--hub", hub, "--device", "printer=unix:\(home.folder["none"])"])
    try home.folder.write(
      "origin = http://127.0.0.1:1\nname = printer\nlink = \(hub)?open=dial\n", to: "hall.conf")
    _ = try await home.gateway(["--inspect", "127.0.0.1:0"])
    let reason = "claims 'printer', but the hub's configuration already has a device printer"
    func link() async throws -> JSON? {
      try await home.status("hall")["members"]?.elements.first?["links"]?.elements.first
    }
    #expect(try await eventually { try await link()?["state"]?.text == "refused" })
    let link = try await link()
    #expect(link?["reason"]?.text == reason && link?["since"] != nil, "\(String(describing: link))")
    let schema = try #require(JSON(parsing: try String(contentsOf: Self.schema, encoding: .utf8)))
    for name in ["hall", "desk"] {
      #expect(SchemaCheck(schema).problems(of: try await home.status(name)) == [])
    }
    let hubs = try await home.status("desk")["members"]?.elements.first?["hubs"]
    let refusal = hubs?.elements.first?["refusals"]?.elements.first
    #expect(hubs?.elements.first?["address"]?.text == hub && refusal?["reason"]?.text == reason)
    let text = try await home.run("status").outputText
    #expect(text.contains("link \(hub): refused: \(reason) (for "), "\(text)")
    #expect(text.contains("hub \(hub): 0 gateways connected\n      refused this machine "), "\(text)")

    let place = try await home.status("hall")["inspector"]?.text?.split(separator: "#").first
    let page = try #require(place)
    let answer = try await Program.curl.run(["-s", "\(page)api/links"])
    let seen = JSON(parsing: answer.outputText)?["links"]?.elements.first
    #expect(seen?["state"]?.text == "refused" && seen?["reason"]?.text == reason, "\(answer.outputText)")
  }

  @Test("byway status reports the state of each link of a device")
  func links() async throws {
    let home = try Home()
    _ = try await home.gateway()
    _ = try await home.proxy(["--device", "printer=unix:\(home.folder["none"]),unix:\(home.folder["l"])"])
    let answer = try await Program.curl.run(
      ["-s", "--unix-socket", home.folder["p"], "http://printer.localhost/"])
    #expect(answer.exitCode == 0)
    let status = try await home.status("desk")
    let schema = try #require(JSON(parsing: try String(contentsOf: Self.schema, encoding: .utf8)))
    #expect(SchemaCheck(schema).problems(of: status) == [])
    let link = status["members"]?.elements.first?["links"]?.elements.first
    #expect(link?["state"]?.text == "up")
    let links = try #require(link?["links"]?.elements)
    #expect(links.map { $0["state"]?.text } == ["down", "up"])
    #expect(links.map { $0["name"]?.text } == ["unix:\(home.folder["none"])", "unix:\(home.folder["l"])"])
    #expect(links.first?["reason"] != nil && links.allSatisfy { $0["since"] != nil })
    let text = try await home.run("status", "desk").outputText
    #expect(text.contains("link unix:\(home.folder["none"]): down for "), "\(text)")
    #expect(text.contains("link unix:\(home.folder["l"]): up for "), "\(text)")
  }

  @Test("the control socket is accessible to its owner only, and removed when the daemon stops")
  func permissions() async throws {
    let home = try Home()
    let gateway = try await home.gateway()
    #expect(try home.socketStatus().st_mode & 0o777 == 0o600)
    #expect(await gateway.process.stop() == .code(0))
    #expect(!FileManager.default.fileExists(atPath: home.folder["byway/hall"]))
    let none = try await home.run("status")
    #expect(none.exitCode == 69)
    #expect(none.errorText.hasPrefix("byway: No gateway or proxy of this user runs"))
  }

  @Test("a client that connects and closes at once causes no error in the daemon's log")
  func onlyLooking() async throws {
    let home = try Home()
    let gateway = try await home.gateway()
    let script = """
      import socket, sys
      for _ in range(300):
          for path in sys.argv[1:]:
              client = socket.socket(socket.AF_UNIX); client.connect(path); client.close()
      """
    let sockets = [home.folder["byway/hall/control.sock"], home.folder["l"]]
    #expect(try await Program.python.run(["-c", script] + sockets).exitCode == 0)
    for _ in 0..<3 { #expect(try await home.run("status").exitCode == 0) }
    #expect(await gateway.process.stop() == .code(0))
    #expect(!gateway.log.contains(" error ") && !gateway.log.contains("closed channel"), "\(gateway.log.suffix(500))")
  }

  @Test("a second daemon with the same name does not start, and leaves the first one undisturbed")
  func names() async throws {
    let home = try Home()
    let gateway = try await home.gateway()
    let second = try await home.run(
      "gateway", "--link", "unix:\(home.folder["other"])", "--origin", "http://127.0.0.1:1", "--instance", "hall")
    #expect(second.exitCode == 69)
    #expect(second.errorText.contains("give this one a name: --instance"), "\(second.errorText)")
    #expect(!FileManager.default.fileExists(atPath: home.folder["other"]))
    #expect(try await home.status("hall")["processID"] == .number(gateway.process.id))
    await gateway.process.stop()
  }

  @Test("a second daemon with the same configuration gets a number after its name, and each has its own commands")
  func numbers() async throws {
    let home = try Home()
    let gateways = try await [
      home.gateway(), home.gateway(["--link", "unix:\(home.folder["m"])"]),
      home.gateway(["--link", "unix:\(home.folder["n"])"]),
    ]
    for (gateway, name) in zip(gateways, ["hall", "hall-2", "hall-3"]) {
      #expect(try await home.status(name)["processID"] == .number(gateway.process.id))
      #expect(try await home.status(name)["name"]?.text == name)
    }
    #expect(gateways[1].log.contains("byway status shows this one as hall-2"), "\(gateways[1].log)")
    #expect(try await home.run("stop", "hall-2").exitCode == 0)
    #expect(!FileManager.default.fileExists(atPath: home.folder["byway/hall-2"]))
    #expect(try await home.status("hall")["processID"] == .number(gateways[0].process.id))
  }

  @Test("the socket of a killed daemon without a name is removed by the next one, and that of a live one stays")
  func killed() async throws {
    let home = try Home()
    func unnamed(_ link: String) async throws -> BywayProcess {
      let gateway = try await BywayProcess.gateway(
        ["--link", "unix:\(home.folder[link])", "--origin", "http://127.0.0.1:1"], environment: home.environment)
      _ = Ending { await gateway.process.stop() }
      return gateway
    }
    let (first, second) = try await (unnamed("l"), unnamed("m"))
    let named = try await home.gateway(["--link", "unix:\(home.folder["o"])"])
    for gateway in [first, named] {
      gateway.process.send(SIGKILL)
      #expect(await gateway.process.waitForExit(within: .seconds(10)) == .signal(SIGKILL))
    }
    let third = try await unnamed("n")
    let names = try FileManager.default.contentsOfDirectory(atPath: home.folder["byway"])
    #expect(Set(names) == ["gateway-\(second.process.id)", "gateway-\(third.process.id)", "hall"], "\(names)")
    #expect(try await home.run("status", "hall").exitCode == 69)
    // A configuration's name is free again, and its socket is replaced.
    let again = try await home.gateway(["--link", "unix:\(home.folder["o"])"])
    #expect(try await home.status("hall")["processID"] == .number(again.process.id))
  }

  @Test("byway reload reports errors, and byway status has the result of the last reload")
  func reload() async throws {
    let home = try Home()
    let gateway = try await home.gateway()
    let done = try await home.run("reload")
    #expect(done.exitCode == 0)
    #expect(done.outputText == "hall has read its configuration again and applied it.\n")
    #expect(try await home.status("hall")["reload"]?["result"]?.text == "done")
    let text = try String(contentsOfFile: home.file, encoding: .utf8)
    try home.folder.write(
      "metrics = unix:\(home.folder["metrics"])\nlog-format = json\nmax-connections = 7\n" + text, to: "hall.conf")
    let later = try await home.run("reload")
    #expect(
      later.outputText == "hall has read its configuration again and applied it. "
        + "At the next start only, these changes take effect: max-connections, metrics.\n")
    #expect(try await eventually { gateway.log.contains("\"message\":\"Reloaded\"") })
    try home.folder.write("origin = nowhere\nlink = unix:\(home.folder["l"])\n", to: "hall.conf")
    let refused = try await home.run("reload", "hall")
    #expect(refused.exitCode == 64)
    #expect(refused.errorText.contains("hall.conf, line 1: origin: "), "\(refused.errorText)")
    #expect(try await home.status("hall")["reload"]?["result"]?.text == "refused")
    #expect(try await home.run("check", home.file).exitCode == 64)
    await gateway.process.stop()
  }

  @Test("byway stop ends a daemon with 0, log-level changes its log, and a name is required if several run")
  func others() async throws {
    let home = try Home()
    let gateway = try await home.gateway()
    #expect(try await home.run("log-level").outputText == "info\n")
    #expect(try await home.run("log-level", "debug", "--instance", "hall").exitCode == 0)
    #expect(try await home.run("log-level").outputText == "debug\n")
    #expect(try await home.run("log-level", "hall", "notice").exitCode == 0)
    #expect(try await home.run("log-level", "hall").outputText == "notice\n")
    #expect(try await home.run("log-level", "warning").exitCode == 0)
    #expect(try await home.run("log-level", "--instance", "hall").outputText == "warning\n")
    let levels = "trace, debug, info, notice, warning, error, critical"
    for (arguments, status, words) in [
      (["hall", "loud"], Int32(64), "one of the following: \(levels)"),
      (["loud"], 69, "No daemon is called \"loud\". Known: hall. A level is one of \(levels)."),
      (["loud", "--instance", "hall"], 64, "\"loud\" is not a level, which is one of \(levels)."),
      (["none", "info"], 69, "No daemon is called \"none\". Known: hall."),
    ] {
      let result = try await BywayProcess.run(["log-level"] + arguments, environment: home.environment)
      #expect(result.exitCode == status && result.errorText.contains(words), "\(result.errorText)")
    }
    let other = try await BywayProcess.gateway(
      ["--link", "unix:\(home.folder["m"])", "--origin", "http://127.0.0.1:1", "--instance", "attic"],
      environment: home.environment)
    let ambiguous = try await home.run("stop")
    #expect(ambiguous.exitCode == 64)
    #expect(ambiguous.errorText == "byway: Several daemons run: name one of attic, hall.\n")
    let unknown = try await home.run("stop", "hal")
    #expect(unknown.errorText.contains("No daemon is called \"hal\". Did you mean \"hall\"?"))
    for (name, process) in [("attic", other), ("hall", gateway)] {
      let stopped = try await home.run("stop", name)
      #expect(stopped.exitCode == 0 && stopped.outputText == "\(name) has stopped.\n", "\(stopped.outputText)")
      #expect(await process.process.waitForExit(within: .seconds(5)) == .code(0))
    }
  }

  @Test("byway stop returns when the daemon has exited, and byway status shows it as stopping until then")
  func stopping() async throws {
    let home = try Home()
    let origin = try await OriginServer(on: .unix(home.folder["o"]))
    try home.folder.write("origin = \(origin.endpoint)\nlink = unix:\(home.folder["l"])\ndrain = 60\n", to: "hall.conf")
    let gateway = try await home.gateway()
    let client = try ChildProcess(
      Program.curl.path(),
      [
        "-q", "-sN", "--http2-prior-knowledge", "--unix-socket", home.folder["l"],
        "http://device/events?ms=60000&count=2",
      ])
    _ = try await client.outputLine(containing: "id: 0", within: .seconds(10))
    #expect(try await home.status("hall")["state"]?.text == "running")
    async let stopped = home.run("stop")
    #expect(try await eventually { try await home.status("hall")["state"]?.text == "stopping" })
    #expect(try await home.run("status").outputText.contains(", stopping, "))
    let unawaited = try await home.run("stop", "--no-wait")
    #expect(unawaited.exitCode == 0 && unawaited.outputText == "hall is stopping.\n")
    #expect(RunningProcess.isRunning(gateway.process.id))
    await client.stop()
    #expect(try await stopped.exitCode == 0)
    #expect(!RunningProcess.isRunning(gateway.process.id))
    await origin.stop()
  }

  @Test("a client that leaves an event stream is not a failed request, and one that leaves another response is")
  func eventStream() async throws {
    let home = try Home()
    let origin = try await OriginServer(on: .unix(home.folder["o"]))
    try home.folder.write("origin = \(origin.endpoint)\nlink = unix:\(home.folder["l"])\n", to: "hall.conf")
    _ = try await home.gateway()
    _ = try await home.proxy(["--link", "unix:\(home.folder["l"])"])
    func requests(_ name: String) async throws -> [String] {
      let requests = try await home.status(name)["requests"]
      let failed = "\(requests?["failed"] ?? "?")"
      return ["\(requests?["done"] ?? "?")", "\(requests?["running"] ?? "?")", failed == "{}" ? "none" : "some"]
    }
    for (path, counts) in [
      ("/events?ms=60000&count=2", ["1", "0", "none"]), ("/slow-body?count=600", ["1", "0", "some"]),
    ] {
      let client = try ChildProcess(
        Program.curl.path(), ["-q", "-siN", "--unix-socket", home.folder["p"], "http://localhost\(path)"])
      _ = try await client.outputLine(containing: "HTTP/1.1 200", within: .seconds(10))
      await client.stop()
      for name in ["desk", "hall"] {
        #expect(try await eventually { try await requests(name) == counts }, "\(name) \(path)")
      }
    }
    await origin.stop()
  }

  @Test("every command gives up on a stopped daemon, and byway status still shows the others")
  func stuck() async throws {
    let home = try Home()
    let gateway = try await home.gateway()
    let other = try await BywayProcess.gateway(
      ["--link", "unix:\(home.folder["m"])", "--origin", "http://127.0.0.1:1", "--instance", "attic"],
      environment: home.environment)
    gateway.process.send(SIGSTOP)
    let commands = [
      ["reload", "hall"], ["stop", "hall"], ["log-level", "--instance", "hall"],
      ["log-level", "debug", "--instance", "hall"], ["status", "hall"], ["status"],
    ]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for command in commands {
        group.addTask {
          let answer = try await BywayProcess.run(command, environment: home.environment)
          #expect(answer.exitCode == 69)
          #expect(answer.errorText == "byway: hall does not answer.\n", "\(command)")
          if command == ["status"] { #expect(answer.outputText.hasPrefix("attic: gateway ")) }
        }
      }
      try await group.waitForAll()
    }
    gateway.process.send(SIGCONT)
    for process in [gateway, other] { #expect(await process.process.stop() == .code(0)) }
  }

  @Test(
    "no control socket is created in a RUNTIME_DIRECTORY that is missing or writable by other users",
    arguments: [false, true])
  func foreignPlace(_ exists: Bool) async throws {
    let folder = try TemporaryFolder()
    if exists {
      mkdir(folder["run"], 0o777)
      chmod(folder["run"], 0o777)
    }
    let gateway = try await BywayProcess.gateway(
      ["--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:1"],
      environment: ["XDG_RUNTIME_DIR": "", "RUNTIME_DIRECTORY": "\(folder["run"]):/other"])
    let line = try await gateway.process.errorLine(containing: "no control socket", within: .seconds(5))
    #expect(line.contains(exists ? "Others can write to \(folder["run"])" : "folder that exists"), "\(line)")
    #expect(!FileManager.default.fileExists(atPath: folder["run/control.sock"]))
    chmod(folder["run"], 0o755)
    #expect(await gateway.process.stop() == .code(0))
    guard exists else { return }
    let trusted = try await BywayProcess.gateway(
      ["--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:1"],
      environment: ["XDG_RUNTIME_DIR": "", "RUNTIME_DIRECTORY": "\(folder["run"]):/other"])
    #expect(FileManager.default.fileExists(atPath: folder["run/control.sock"]))
    #expect(await trusted.process.stop() == .code(0))
  }

  @Test("a second daemon in the same RUNTIME_DIRECTORY does not start, as its folder has only one socket")
  func sharedPlace() async throws {
    let folder = try TemporaryFolder()
    let environment = ["XDG_RUNTIME_DIR": "", "RUNTIME_DIRECTORY": folder.path]
    let first = try await BywayProcess.gateway(
      ["--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:1"], environment: environment)
    let second = try await BywayProcess.run(
      ["gateway", "--link", "unix:\(folder["m"])", "--origin", "http://127.0.0.1:1"], environment: environment)
    #expect(second.exitCode == 69 && second.errorText.contains(folder["control.sock"]), "\(second.errorText)")
    #expect(await first.process.stop() == .code(0))
    #expect(FileManager.default.fileExists(atPath: folder.path), "it is systemd's")
  }

  @Test("byway status has the inspector's token, and logs written to a pipe or a file do not")
  func token() async throws {
    let home = try Home()
    let gateway = try await home.gateway(["--inspect", "127.0.0.1:0"])
    let url = try #require(try await home.status("hall")["inspector"]?.text)
    let token = try #require(url.split(separator: "#").last)
    #expect(token.utf8.count > 16)
    _ = try await gateway.process.errorLine(containing: "byway status has the URL that may act", within: .seconds(5))
    #expect(!gateway.log.contains(token), "\(gateway.log)")
    #expect(await gateway.process.stop() == .code(0))
  }

  @Test(
    "a malicious daemon cannot send control sequences to the caller's terminal or block the caller",
    arguments: [
      #"{"name":"x","kind":"\u001b]0;t\u0007","version":"\u009b31m","members":[],"requests":{}}"#,
      #"{"reload":{"result":"refused","reason":"\u001b[31m"},"requests":{"failed":{"a":9223372036854775807,"b":9223372036854775807}}}"#,
      #"{"since":"99999999999-01-01T00:00:00Z","requests":{"running":-9223372036854775808}}"#,
      #"{"since":"2026-01-01T9223372036854775:00:00Z","members":[{"links":[{"state":"\u001b[2J","name":"\u001b"}]}]}"#,
      "\u{1B}[31mnot JSON", "",
    ])
  func hostile(_ body: String) async throws {
    let home = try Home()
    try FileManager.default.createDirectory(atPath: home.folder["byway/liar"], withIntermediateDirectories: true)
    try home.folder.write(body, to: "body")
    let script = """
      import socket, sys
      server = socket.socket(socket.AF_UNIX); server.bind(sys.argv[1]); server.listen(); print("ready", flush=True)
      body = open(sys.argv[2], "rb").read()
      while True:
          client, _ = server.accept(); head = b""
          while b"\\r\\n\\r\\n" not in head:
              piece = client.recv(4096)
              if not piece: break
              head += piece
          client.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body); client.close()
      """
    let liar = try ChildProcess(
      Program.python.path(), ["-c", script, home.folder["byway/liar/control.sock"], home.folder["body"]])
    _ = try await liar.outputLine(containing: "ready", within: .seconds(10))
    for arguments in [["status", "liar"], ["status", "--json"], ["log-level"]] {
      let result = try await BywayProcess.run(arguments, environment: home.environment)
      #expect([0, 69].contains(result.exitCode), "\(arguments): \(result.exitCode) \(result.errorText)")
      for text in [result.outputText, result.errorText] {
        #expect(
          !text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || (0x7F...0x9F).contains($0.value) }, "\(text)"
        )
      }
    }
    await liar.stop()
  }

  @Test("the control socket answers unknown or invalid requests with a fitting status")
  func requests() async throws {
    let home = try Home()
    let gateway = try await home.gateway()
    func curl(_ arguments: String...) async throws -> String {
      let socket = [
        "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", home.folder["byway/hall/control.sock"],
      ]
      return try await Program.curl.run(socket + arguments).outputText
    }
    #expect(try await curl("http://x/metrics") == "200")
    #expect(try await curl("http://x/") == "404")
    #expect(try await curl("http://x/stop") == "404")
    #expect(try await curl("-X", "PUT", "-d", "loud", "http://x/log-level") == "422")
    #expect(try await curl("-X", "PUT", "-d", String(repeating: "x", count: 100_000), "http://x/log-level") == "413")
    #expect(await gateway.process.stop() == .code(0))
  }
}

extension CommandResult {
  fileprivate var outputText: String { String(decoding: output, as: UTF8.self) }
}
