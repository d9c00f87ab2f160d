import Foundation
import TestPeers
import Testing

@Suite("byway demo") struct DemoTests {
  @Test("--once runs the whole tour, pulled cable included, and every step succeeds", .timeLimit(.minutes(2)))
  func once() async throws {
    let result = try await BywayProcess.run(["demo", "--once", "--seed", "7"], within: .seconds(100))
    #expect(result.exitCode == 0, "\(result.text) \(result.errorText)")
    let lines = result.text.split(separator: "\n")
    #expect(lines.count == 10)
    #expect(lines.first?.contains("115200 baud, seed 7") == true)
    #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("  ok  ") })
    #expect(!result.text.contains("\u{1B}"))
    #expect(result.errorText.isEmpty)
  }

  @Test("the demo serves a page, logs every request that passes, and exits with 0")
  func running() async throws {
    let demo = try ChildProcess(BywayProcess.command(), ["demo"])
    let line = try await demo.errorLine(containing: "byway: demo ready on ", within: .seconds(10))
    let url = try #require(line.split(separator: " ").last)
    let page = try await Curl.fetch("\(url)/")
    #expect(page.status == 200 && page.text.contains("<title>Byway</title>"))
    #expect(try await Curl.fetch("\(url)/upload", "-T", "/dev/null").text.contains("\"bytes\":0"))
    #expect(try await Curl.fetch("\(url)/nothing").status == 404)
    #expect(try await Curl.fetch("\(url)/upload").status == 405)
    _ = try await demo.outputLine(containing: "/nothing", within: .seconds(5))
    let look = String(decoding: demo.output, as: UTF8.self).split(separator: "\n").first {
      $0.hasPrefix("  look  http")
    }
    let inspector = try #require(look?.split(separator: " ").last?.split(separator: "#").first)
    #expect(try await Curl.fetch("\(inspector)").text.contains("Byway inspector"))
    #expect(try await Curl.fetch("\(inspector)/api/exchanges").text.contains("\"path\":\"/nothing\""))
    #expect(try await Curl.fetch("\(inspector)/api/links").text.contains("framesSent"))
    #expect(await demo.stop() == .code(0))
    let output = String(decoding: demo.output, as: UTF8.self)
    #expect(output.contains("GET     /nothing                        404"))
    #expect(!output.contains("\u{1B}"))
  }

  @Test("with output to a file, the demo reports the line's state now and then")
  func plain() async throws {
    let demo = try ChildProcess(BywayProcess.command(), ["demo"])
    let line = try await demo.errorLine(containing: "byway: demo ready on ", within: .seconds(10))
    let url = try #require(line.split(separator: " ").last)
    async let body = Curl.fetch("\(url)/big?bytes=100000")
    let told = try await demo.outputLine(containing: "line: down ", within: .seconds(20))
    #expect(told.contains("round trip ") && told.contains(" frames sent again"))
    #expect(try await body.body.count == 100_000)
    #expect(await demo.stop() == .code(0))
  }

  @Test("on a terminal, keys pull the cable, add errors and quit, and the terminal's settings are restored")
  func keys() async throws {
    let run = try await TerminalRun.of(
      ["demo"],
      ["q quit", "p"], ["cable out for ", "p"], ["↓ ", "e"], ["bit errors: 1e-4", "q"])
    #expect(run.status == 0, "\(run.output)")
    #expect(run.isUnchanged)
    #expect(run.wasChanged)
  }

  @Test(
    "the terminal's settings are restored when the demo is ended by a signal",
    arguments: ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGSEGV"])
  func ended(_ signal: String) async throws {
    let run = try await TerminalRun.of(["demo"], ["q quit", "e"], ["bit errors: 1e-4", signal])
    #expect(["SIGQUIT", "SIGSEGV"].contains(signal) ? run.status < 0 : run.status == 0, "\(run.output)")
    #expect(run.isUnchanged && run.wasChanged)
  }
}
