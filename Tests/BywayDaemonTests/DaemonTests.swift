import BywayPrimitives
import Foundation
import TestPeers
import TestTools
import Testing

/// Start and stop of gateways and proxies.
@Suite("Daemons", .cleansUp) struct DaemonTests {
  @Test("a daemon reports when it is ready and on which address, with the chosen port")
  func ready() async throws {
    let folder = try TemporaryFolder()
    let gateway = try await BywayProcess.gateway([
      "--link", "tcp://127.0.0.1:0", "--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:1",
    ])
    let words = gateway.ready.split(separator: " ")
    #expect(words.count == 2)
    #expect(words.first?.hasPrefix("tcp://127.0.0.1:") == true && words.first?.hasSuffix(":0") == false)
    #expect(words.last == "unix:\(folder["l"])")

    let proxy = try await BywayProcess.proxy(["--link", "unix:\(folder["l"])", "--listen", "unix:\(folder["p"])"])
    #expect(proxy.ready == "unix:\(folder["p"]) → unix:\(folder["l"])")
    await proxy.process.stop()
    await gateway.process.stop()
  }

  @Test("a proxy that answers from recordings needs no link")
  func recorded() async throws {
    let folder = try TemporaryFolder()
    let recordings = folder["recordings?"]
    try FileManager.default.createDirectory(atPath: recordings, withIntermediateDirectories: false)
    let proxy = try await BywayProcess.proxy(["--replay", recordings, "--listen", "unix:\(folder["p"])"])
    #expect(proxy.ready == "unix:\(folder["p"]) → recorded:\(folder["recordings"])%3F")
    let answer = try await Curl.fetch("--unix-socket", folder["p"], "http://localhost/status")
    #expect(answer.status == 503 && answer.text.contains("has no recording of GET /status"), "\(answer.text)")
    await proxy.process.stop()
  }

  /// Returns a daemon's standard error, one object per line.
  private func events(_ text: String) throws -> [JSON] {
    try text.split(separator: "\n").map { line in try #require(JSON(parsing: String(line)), "not JSON: \(line)") }
  }

  @Test("a JSON log has one object per line, including the ready message and the port of metrics")
  func readyInJSON() async throws {
    let folder = try TemporaryFolder()
    let gateway = try ChildProcess(
      BywayProcess.command(),
      [
        "gateway", "--link", "tcp://127.0.0.1:0", "--origin", "http://127.0.0.1:1", "--log-format", "json",
        "--log-level", "error", "--metrics", "127.0.0.1:0", "--instance", "hall",
      ], environment: ["XDG_RUNTIME_DIR": folder.path])
    _ = try await gateway.errorLine(containing: "\"metrics\"", within: .seconds(10))
    let ready = try events(gateway.errorText).filter { $0["message"]?.text == "Ready" }.compactMap { $0["metadata"] }
    #expect(ready.contains { $0["listens"]?.text?.hasPrefix("tcp://127.0.0.1:") == true })
    let addresses = ready.compactMap { $0["metrics"]?.text }
    let metrics = try #require(addresses.first)
    #expect(try await Curl.fetch(metrics).text.contains("byway_link_up"))
    #expect(await gateway.stop() == .code(0))
    _ = try events(gateway.errorText)
  }

  @Test("a journal log has the same text with a priority prefix")
  func readyInJournal() async throws {
    let folder = try TemporaryFolder()
    let gateway = try ChildProcess(
      BywayProcess.command(),
      ["gateway", "--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:1", "--log-format", "journal"])
    let line = try await gateway.errorLine(containing: "ready on", within: .seconds(10))
    #expect(line == "<5>byway: gateway ready on unix:\(folder["l"])")
    #expect(await gateway.stop() == .code(0))
  }

  @Test(
    "a failure to start is one line in the log format of the arguments or the file",
    arguments: [
      ["--log-format", "json", "--link", "nowhere:x", "--origin", "http://127.0.0.1:1"],
      ["--log-format=json", "--nonsense"],
      ["--config"],
    ])
  func failureInJSON(_ arguments: [String]) async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("log-format = json\norign = http://127.0.0.1:1\n", to: "g.conf")
    let result = try await BywayProcess.run(["gateway"] + arguments + (arguments == ["--config"] ? [file] : []))
    #expect(result.exitCode == 64)
    let events = try events(result.errorText)
    #expect(!events.isEmpty && events.allSatisfy { $0["level"]?.text == "error" }, "\(result.errorText)")
  }

  @Test("a daemon exits with 0 on SIGTERM and SIGINT, and removes its socket", arguments: [SIGTERM, SIGINT])
  func stop(_ signal: Int32) async throws {
    let folder = try TemporaryFolder()
    let gateway = try await BywayProcess.gateway(["--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:1"])
    gateway.process.send(signal)
    #expect(await gateway.process.waitForExit(within: .seconds(5)) == .code(0))
    #expect(!FileManager.default.fileExists(atPath: folder["l"]))
  }

  @Test("a daemon logs and ignores a signal without a meaning for it", arguments: [SIGUSR2])
  func otherSignals(_ signal: Int32) async throws {
    let folder = try TemporaryFolder()
    let gateway = try await BywayProcess.gateway(["--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:1"])
    gateway.process.send(signal)
    _ = try await gateway.process.errorLine(containing: "is ignored", within: .seconds(5))
    #expect(FileManager.default.fileExists(atPath: folder["l"]))
    #expect(await gateway.process.stop() == .code(0))
    #expect(!FileManager.default.fileExists(atPath: folder["l"]))
  }

  @Test("SIGUSR1 reopens a renamed audit log, and the event after it is in the new file only")
  func auditRotation() async throws {
    let folder = try TemporaryFolder()
    try folder.write("alice = printer\n", to: "rights")
    let log = folder["audit.log"]
    let proxy = try await BywayProcess.proxy([
      "--device", "printer=unix:\(folder["l"])", "--listen", "unix:\(folder["p"])", "--rights", folder["rights"],
      "--user-header", "X-Remote-User", "--audit-log", log,
    ])
    func ask(as user: String) async throws {
      _ = try await Curl.fetch(
        "--unix-socket", folder["p"], "-H", "X-Remote-User: \(user)", "http://printer.localhost/")
    }
    func users(in file: String) throws -> [String] {
      try String(contentsOfFile: file, encoding: .utf8).matches(of: #/"user":"(\w+)"/#).map { String($0.1) }
    }
    try await ask(as: "bob")
    #expect(try await eventually { try users(in: log) == ["bob"] })
    try FileManager.default.moveItem(atPath: log, toPath: "\(log).1")
    proxy.process.send(SIGUSR1)
    #expect(try await eventually { FileManager.default.fileExists(atPath: log) })
    try await ask(as: "carol")
    await proxy.process.stop()
    #expect(try users(in: "\(log).1") == ["bob"])
    #expect(try users(in: log) == ["carol"])
  }

  @Test("a daemon reloads its file on SIGHUP, and logs why an invalid file is refused")
  func reload() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("origin = http://127.0.0.1:1\n[gateway a]\nlink = unix:\(folder["a"])\n", to: "g.conf")
    let gateway = try await BywayProcess.gateway(["--config", file])
    #expect(gateway.ready == "a ready on unix:\(folder["a"])")

    try folder.write("origin = http://127.0.0.1:1\n[gateway b]\nlink = unix:\(folder["b"])\n", to: "g.conf")
    gateway.process.send(SIGHUP)
    _ = try await gateway.process.errorLine(containing: "Reloaded", within: .seconds(10))
    #expect(FileManager.default.fileExists(atPath: folder["b"]))
    #expect(!FileManager.default.fileExists(atPath: folder["a"]))

    try folder.write("orign = http://127.0.0.1:1\n[gateway c]\nlink = unix:\(folder["c"])\n", to: "g.conf")
    gateway.process.send(SIGHUP)
    let line = try await gateway.process.errorLine(containing: "the one before stays in force", within: .seconds(10))
    #expect(line.contains("\(file), line 1: ") && line.contains("orign"), "\(line)")
    #expect(FileManager.default.fileExists(atPath: folder["b"]))
    #expect(!FileManager.default.fileExists(atPath: folder["c"]))
    #expect(await gateway.process.stop() == .code(0))
    #expect(!FileManager.default.fileExists(atPath: folder["b"]))
  }

  /// Writes the file of a proxy daemon whose links lead nowhere.
  private func proxies(_ sections: String, in folder: TemporaryFolder) throws -> String {
    try folder.write("link = unix:\(folder["l"])\nlink-timeout = 0\n\(sections)", to: "p.conf")
  }

  @Test("listeners stay open when sections are renamed or swapped")
  func renamed() async throws {
    let folder = try TemporaryFolder()
    let (first, second) = ("listen = unix:\(folder["1"])\n", "listen = unix:\(folder["2"])\n")
    let proxy = try await BywayProcess.proxy([
      "--config", proxies("[proxy a]\n\(first)[proxy b]\n\(second)", in: folder),
    ])
    for (round, sections) in ["[proxy x]\n\(first)[proxy b]\n\(second)", "[proxy b]\n\(first)[proxy x]\n\(second)"]
      .enumerated()
    {
      _ = try proxies(sections, in: folder)
      proxy.process.send(SIGHUP)
      #expect(try await eventually { proxy.log.components(separatedBy: "Reloaded").count == round + 2 })
      #expect(!proxy.log.contains("in use"), "\(proxy.log)")
    }
    for name in ["1", "2"] {
      #expect(try await Program.curl.run(["-s", "--unix-socket", folder[name], "http://localhost/"]).exitCode == 0)
    }
    #expect(await proxy.process.stop() == .code(0))
  }

  @Test("a refused reload keeps existing sections, and does not overwrite the file of a new trace")
  func refused() async throws {
    let folder = try TemporaryFolder()
    let other = try await BywayProcess.proxy(["--link", "unix:\(folder["l"])", "--listen", "unix:\(folder["taken"])"])
    let file = try proxies("[proxy a]\nlisten = unix:\(folder["a"])\n", in: folder)
    let proxy = try await BywayProcess.proxy(["--config", file])
    try folder.write("precious", to: "old.har")
    _ = try proxies("trace = \(folder["old.har"])\n[proxy b]\nlisten = unix:\(folder["taken"])\n", in: folder)
    proxy.process.send(SIGHUP)
    let line = try await proxy.process.errorLine(containing: "cannot be used", within: .seconds(10))
    #expect(line.contains("[proxy b]"), "\(line)")
    #expect(try String(contentsOfFile: folder["old.har"], encoding: .utf8) == "precious")
    // A later reload without that file does not overwrite it either.
    _ = try proxies("[proxy a]\nlisten = unix:\(folder["a"])\n", in: folder)
    proxy.process.send(SIGHUP)
    _ = try await proxy.process.errorLine(containing: "Reloaded", within: .seconds(10))
    #expect(try String(contentsOfFile: folder["old.har"], encoding: .utf8) == "precious")
    #expect(try await Program.curl.run(["-s", "--unix-socket", folder["a"], "http://localhost/"]).exitCode == 0)
    #expect(await proxy.process.stop() == .code(0))
    await other.process.stop()
  }

  @Test("the exchanges of all sections are recorded in the same trace file")
  func sharedTrace() async throws {
    let folder = try TemporaryFolder()
    let file = try proxies(
      "trace = \(folder["t.har"])\n[proxy a]\nlisten = unix:\(folder["a"])\n[proxy b]\nlisten = unix:\(folder["b"])\n",
      in: folder)
    let proxy = try await BywayProcess.proxy(["--config", file])
    for name in ["a", "b", "a"] {
      #expect(
        try await Program.curl.run(["-s", "--unix-socket", folder[name], "http://localhost/\(name)"]).exitCode == 0)
    }
    #expect(await proxy.process.stop() == .code(0))
    let log = try #require(JSON(parsing: try String(contentsOfFile: folder["t.har"], encoding: .utf8)))
    #expect(log["log"]?["entries"]?.elements.count == 3)
  }

  @Test("a reload requested during another reload is performed as well")
  func again() async throws {
    let folder = try TemporaryFolder()
    let proxy = try await BywayProcess.proxy(
      ["--config", proxies("[proxy a]\nlisten = unix:\(folder["a"])\n", in: folder)])
    for round in 1...5 {
      _ = try proxies("[proxy a]\nlisten = unix:\(folder["a\(round)"])\n", in: folder)
      proxy.process.send(SIGHUP)
    }
    #expect(try await eventually { FileManager.default.fileExists(atPath: folder["a5"]) })
    #expect(await proxy.process.stop() == .code(0))
  }

  @Test("a gateway that only dials logs the link it dials instead of ready")
  func dialing() async throws {
    let folder = try TemporaryFolder()
    let hub = "unix:\(folder["hub"])?open=dial"
    let gateway = try await BywayProcess.gateway(["--link", hub, "--origin", "http://127.0.0.1:1"])
    #expect(gateway.ready == "started, dials \(hub)")
    _ = try await gateway.process.errorLine(containing: "Link unavailable", within: .seconds(5))
    await gateway.process.stop()
    let both = try await BywayProcess.gateway([
      "--link", hub, "--link", "unix:\(folder["l"])", "--origin", "http://127.0.0.1:1",
    ])
    #expect(both.ready == "unix:\(folder["l"]), dials \(hub)")
    await both.process.stop()
  }

  @Test("a gateway logs faults of its origin with their number")
  func originFailures() async throws {
    let gateway = try await BareGateway(["--allow", "127.0.0.1:1"], to: "http://127.0.0.1:1")
    for _ in 0..<3 { #expect(try await gateway.curl("http://device/").status == 503) }
    let line = try await gateway.gateway.process.errorLine(containing: "A request failed", within: .seconds(5))
    #expect(line.contains("warning") && line.contains("Nothing listens at http://127.0.0.1:1"), "\(line)")
    #expect(gateway.gateway.log.components(separatedBy: "A request failed").count == 2)
    let more = try await gateway.gateway.process.errorLine(containing: "count=2", within: .seconds(20))
    #expect(more.contains("A request failed"))
  }

  @Test("a daemon lets a running request finish when it stops")
  func drain() async throws {
    let gateway = try await BareGateway(["--drain", "10"])
    let client = try await gateway.eventStream("ms=500&count=2")
    gateway.gateway.terminate()
    #expect(await client.waitForExit(within: .seconds(5)) == .code(0))
    _ = try await client.outputLine(containing: "id: 1", within: .seconds(5))
    #expect(await gateway.gateway.process.waitForExit(within: .seconds(5)) == .code(0))
  }

  @Test("a daemon exits with 0 and logs it when a request outlasts the drain time")
  func cut() async throws {
    let gateway = try await BareGateway(["--drain", "0.2"])
    let client = try await gateway.eventStream("ms=20000&count=2")
    gateway.gateway.terminate()
    #expect(await gateway.gateway.process.waitForExit(within: .seconds(5)) == .code(0))
    #expect(await client.waitForExit(within: .seconds(5)) != .code(0))
    #expect(gateway.gateway.log.contains("requests=1"))
  }

  @Test("a second signal ends a daemon immediately")
  func secondSignal() async throws {
    let gateway = try await BareGateway(["--drain", "60"])
    let client = try await gateway.eventStream("ms=20000&count=2")
    gateway.gateway.terminate()
    try await gateway.waitUntilUnreachable()
    gateway.gateway.process.send(SIGINT)
    #expect(await gateway.gateway.process.waitForExit(within: .seconds(5)) == .code(128 + SIGINT))
    #expect(await client.waitForExit(within: .seconds(5)) != .code(0))
  }

  @Test("a gateway on stdio exits with 0 at the end of its input")
  func stdio() async throws {
    let script = #"printf 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' | "$1" gateway --link stdio: --origin http://127.0.0.1:1"#
    let result = try await Program.bash.run([
      "-o", "pipefail", "-c", "\(script) | cat >/dev/null", "test", BywayProcess.command(),
    ])
    #expect(result.exitCode == 0)
    #expect(result.errorText.contains("byway: gateway ready on stdio:"))
  }

  @Test("options in the file apply where the command line has none")
  func configuration() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("link = unix:\(folder["file"])\norigin = http://127.0.0.1:1\n", to: "g.conf")
    let gateway = try await BywayProcess.gateway(["--config", file, "--link", "unix:\(folder["flag"])"])
    #expect(gateway.ready == "unix:\(folder["flag"])")
    await gateway.process.stop()
  }

  @Test("a daemon warns about a listener that other machines can reach")
  func anywhere() async throws {
    let proxy = try await BywayProcess.proxy([
      "--link", "unix:/nowhere/l", "--listen", "0.0.0.0:0", "--listen-anywhere",
    ])
    #expect(proxy.log.contains("Anyone who can reach this address can use the devices behind it"))
    #expect(proxy.ready.hasPrefix("http://0.0.0.0:"))
    await proxy.process.stop()
  }
}

extension BareGateway {
  /// Starts curl, which has received the first event of a stream and waits for the others.
  fileprivate func eventStream(_ query: String) async throws -> ChildProcess {
    let curl = try ChildProcess(
      Program.curl.path(),
      ["-q", "-sN", "--http2-prior-knowledge", "--unix-socket", socket, "http://device/events?\(query)"])
    _ = try await curl.outputLine(containing: "id: 0", within: .seconds(10))
    return curl
  }

  /// Waits until the socket file is gone, which shows that the daemon has received the first signal.
  fileprivate func waitUntilUnreachable() async throws {
    let isGone = try await eventually(within: .seconds(5)) { !FileManager.default.fileExists(atPath: socket) }
    guard isGone else { throw PeerFailure("the gateway still listens") }
  }
}
