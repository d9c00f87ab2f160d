import BywayPrimitives
import BywayTerminal
import Foundation
import NIOCore
import TestPeers
import TestTools
import Testing

@testable import BywayCommand
@testable import BywayDaemon
@testable import BywayPlugins

/// Plugins in `byway status`, as JSON and in metrics.
@Suite("Status of plugins", .cleansUp) struct PluginStatusTests {
  private func line(_ plugin: JSON) -> String {
    let status: JSON = ["name": "p", "kind": "proxy", "version": "1", "plugins": [plugin]]
    let lines = StatusText(status, now: 1_767_225_600, style: TextStyle(isColourful: false)).lines
    return lines.count > 2 ? lines[1] : ""
  }

  @Test("the text uses singular and plural, and shows only values that exist")
  func text() {
    #expect(
      line(["name": "stamp", "state": "notStarted", "requests": 0, "running": 0, "failed": [:], "restarts": 0])
        == "  plugin stamp: not started, 0 requests")
    #expect(
      line([
        "name": "stamp", "state": "running", "since": "2026-01-01T00:00:00Z", "processIDs": [12], "requests": 1,
        "running": 1, "failed": [:], "restarts": 1, "lastNanoseconds": 1_500_000,
      ]) == "  plugin stamp: running for 0 s, process 12, 1 request, 1 running, restarted once, last took 1.5 ms")
    #expect(
      line([
        "name": "stamp", "state": "down", "reason": "It ended.", "nextAttempt": "2026-01-01T00:00:03Z",
        "processIDs": [1, 2], "requests": 5, "failed": ["late": 1, "lost": 2], "restarts": 2,
      ])
        == "  plugin stamp: down, 2 processes, It ended., next attempt in 3 s, 5 requests, 3 failed (1 late, 2 lost), "
        + "restarted 2 times")
  }

  private func status(_ name: String, _ requests: Int, failures: [PluginFigures.Failure: Int] = [:]) -> PluginStatus {
    var figures = PluginFigures()
    figures.requests = requests
    figures.failures = failures
    figures.answered(in: .milliseconds(250))
    return PluginStatus(
      name: name, link: "exec:x", state: .running(since: nil), restarts: 1, running: 2, figures: figures)
  }

  private func metrics(_ observation: DaemonObservation, _ plugins: [PluginStatus]) -> Set<Substring> {
    let text = String(decoding: observation.metricsText(of: [], connections: [:], plugins: plugins), as: UTF8.self)
    return Set(text.split(separator: "\n").filter { $0.hasPrefix("byway_plugin_") })
  }

  @Test("metrics count per plugin, also after a reload has created it again, and are bounded")
  func metrics() throws {
    let observation = try DaemonObservation(ObservationSettings(), logger: PluginStatusTests.quiet)
    let first = metrics(observation, [status("a", 3, failures: [.late: 1])])
    #expect(
      first.isSuperset(of: [
        #"byway_plugin_requests_total{plugin="a"} 3"#, #"byway_plugin_up{plugin="a"} 1"#,
        #"byway_plugin_active_requests{plugin="a"} 2"#, #"byway_plugin_restarts_total{plugin="a"} 1"#,
        #"byway_plugin_failures_total{plugin="a",error_type="late"} 1"#,
        #"byway_plugin_failures_total{plugin="a",error_type="lost"} 0"#,
        #"byway_plugin_time_seconds_total{plugin="a"} 0.25"#,
      ]), "\(first)")
    #expect(metrics(observation, [status("a", 5)]).contains(#"byway_plugin_requests_total{plugin="a"} 5"#))
    #expect(metrics(observation, [status("a", 2)]).contains(#"byway_plugin_requests_total{plugin="a"} 7"#))
    let gone = metrics(observation, [])
    #expect(gone.isSuperset(of: [#"byway_plugin_up{plugin="a"} 0"#, #"byway_plugin_active_requests{plugin="a"} 0"#]))
    let many = metrics(observation, (0..<150).map { status("p\($0)", 1) })
    #expect(many.contains(#"byway_plugin_requests_total{plugin="_OTHER"} 51"#))
    #expect(many.filter { $0.hasPrefix("byway_plugin_requests_total") }.count == 101)
  }

  private static let quiet = LogRecord().logger

  @Test("byway status shows a plugin from its start until a reload removes it, and its socket is private")
  func daemon() async throws {
    let folder = try TemporaryFolder()
    let environment = ["XDG_RUNTIME_DIR": folder.path, "RUNTIME_DIRECTORY": ""]
    let python = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../plugins/python/counter.py")
      .path
    func configuration(_ more: String) throws -> String {
      try folder.write(
        "origin = http://127.0.0.1:1\nlink = unix:\(folder["l"])\n[interceptor stamp]\n"
          + "link = exec:\(Program.python.path()) -B \(python)\n\(more)\n", to: "hall.conf")
    }
    let gateway = try await BywayProcess.gateway(
      ["--config", configuration("start = now")], environment: environment)
    _ = Ending { await gateway.process.stop() }
    func status() async throws -> JSON? {
      let result = try await BywayProcess.run(["status", "hall", "--json"], environment: environment)
      return JSON(parsing: result.text)?["plugins"]?.elements.first
    }
    #expect(try await eventually { try await status()?["state"]?.text == "running" })
    let before = try #require(try await status()?["processIDs"]?.elements.first)
    let sockets = try FileManager.default.contentsOfDirectory(atPath: folder["byway"]).filter { $0.hasPrefix("byway-") }
    #expect(sockets.count == 1)
    #expect(try folder.permissions(of: "byway/\(sockets[0])") == 0o700)
    let whole = try await BywayProcess.run(["status", "hall", "--json"], environment: environment)
    let schema = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/status.schema.json")
    let rules = try #require(JSON(parsing: try String(contentsOf: schema, encoding: .utf8)))
    #expect(SchemaCheck(rules).problems(of: try #require(JSON(parsing: whole.text))) == [])

    _ = try configuration("start = now\npath = /pages")
    #expect(try await BywayProcess.run(["reload", "hall"], environment: environment).exitCode == 0)
    #expect(
      try await eventually {
        let now = try await status()?["processIDs"]?.elements.first
        return now != nil && now != before
      })
    if case .number(let process) = before, let process = Int32(process) {
      #expect(try await eventually { kill(process, 0) != 0 })
    }
    #expect(await gateway.process.stop() == .code(0))
    #expect(!FileManager.default.fileExists(atPath: folder["byway/\(sockets[0])"]))
  }

  @Test("a runtime folder that other users can write to is not used for the sockets of plugins")
  func folder() async throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder["open"], withIntermediateDirectories: false)
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder["open"])
    let result = try await BywayProcess.run(
      [
        "gateway", "--origin", "http://127.0.0.1:1", "--link", "unix:\(folder["l"])", "--interceptor",
        "unix:\(folder["p"])",
      ], environment: ["RUNTIME_DIRECTORY": folder["open"]])
    #expect(result.exitCode == 73 && result.errorText.contains("Others can write to"), "\(result.errorText)")
  }
}
