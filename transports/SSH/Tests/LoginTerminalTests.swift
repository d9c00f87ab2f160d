import Foundation
import TestPeers
import Testing

@Suite("Questions on a terminal")
struct LoginTerminalTests {
  struct Report: Decodable {
    let output: String
    let status: Int32
    let wasChanged: Bool
    let isUnchanged: Bool
  }

  private func run(_ keys: String, milliseconds: Int = 30_000) async throws -> Report {
    let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    let probe = folder.appending(path: "TerminalProbe").path
    return try await Script.terminal.run("80", "Question??: ", keys, "--", probe, "\(milliseconds)")
  }

  @Test("a typed answer is not shown, and the terminal is restored")
  func answer() async throws {
    let report = try await run("hunter2\n")
    #expect(report.wasChanged)
    #expect(report.isUnchanged)
    #expect(report.status == 7)
    #expect(!report.output.contains("hunter2"))
  }

  @Test("the terminal is restored however the process ends", arguments: ["\u{3}", "\u{1C}", "SIGTERM", "SIGHUP"])
  func killed(keys: String) async throws {
    let report = try await run(keys)
    #expect(report.wasChanged)
    #expect(report.isUnchanged)
    let signals = ["\u{3}": SIGINT, "\u{1C}": SIGQUIT, "SIGTERM": SIGTERM, "SIGHUP": SIGHUP]
    #expect(report.status == -(signals[keys] ?? 0))
  }

  @Test("if the input ends, a question has no answer")
  func endOfInput() async throws {
    let report = try await run("\u{4}")
    #expect(report.isUnchanged)
    #expect(report.status == 100)
  }

  @Test("a question without an answer ends at its deadline")
  func deadline() async throws {
    let report = try await run("half an answ", milliseconds: 1_000)
    #expect(report.isUnchanged)
    #expect(report.status == 101)
  }

  @Test("without a terminal, no question is asked")
  func noTerminal() async throws {
    let folder = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
    let result = try await Program.setsid.run(["--wait", folder.appending(path: "TerminalProbe").path])
    #expect(result.exitCode == 100)
  }
}
