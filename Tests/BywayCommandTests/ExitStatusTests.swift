import TestPeers
import Testing

/// The exit status of the built command.
@Suite("Exit status") struct ExitStatusTests {
  private func errorLine(_ arguments: [String], status: Int32) async throws -> String {
    let result = try await BywayProcess.run(arguments)
    #expect(result.exitCode == status)
    #expect(result.text.isEmpty)
    let lines = result.errorText.split(separator: "\n")
    #expect(lines.count == 1, "one line, not: \(result.errorText)")
    #expect(lines.first?.hasPrefix("byway: ") == true)
    return result.errorText
  }

  @Test(
    "a wrong command line exits with 64, and suggests a similar option",
    arguments: [
      (["gatway"], "Did you mean \"gateway\"?"),
      (["ping", "--lnk", "unix:/x"], "--link"),
      (["ping", "--link", "unx:/x"], "Did you mean \"unix\"?"),
      (["ping", "--link", "unix:/x?mod=0600"], "Did you mean \"mode\"?"),
      (["ping", "--link", "unix:/x", "-c", "0"], "-c must be at least 1"),
      (["ping", "--link", "unix:/x", "-c", "many"], "many"),
      (["ping"], "--link"), (["ports", "extra"], "Try: byway help ports"),
      (["gateway", "--link", "unix:/x"], "--origin"),
      (["gateway", "--origin", "http://127.0.0.1:1"], "--link"),
      (["gateway", "--link", "unix:/x", "--origin", "htp://x"], "Did you mean \"http\"?"),
      (["gateway", "--link", "unix:/x", "--origin", "http://x", "--drain", "soon"], "Write a number of seconds"),
      (["gateway", "--link", "unix:/x", "--origin", "localhost"], "write http://localhost"),
      (["line", "/tmp/a", "/tmp/b", "--cut", "foo@3s"], "stall, lose, hang-up or rename"),
      (["proxy", "--link", "unix:/x", "--listen", ":8080"], "--listen :8080: write 127.0.0.1:8080"),
      (["gateway", "--link", "unix:/x", "--origin", "http://x", "--log-level", "loud"], "trace"),
      (["proxy", "--link", "unix:/x", "--listen", "0.0.0.0:0"], "--listen-anywhere"),
      (["proxy", "--link", "unix:/x", "--listen", "80800"], "write a number from 1 to 65535"),
      (["request", "--link", "unix:/x", "http://"], "has no host"),
      (["request", "--link", "unix:/x", "-H", "nonsense", "/"], "-H 'Name: value'"),
      (["proxy", "--link", "unix:/x", "--link=unix:/y", "--listen", "127.0.0.1:0"], "--link can only be given once"),
      (
        ["gateway", "--link", "unix:/x", "--origin", "http://a", "--origin", "http://b"],
        "--origin can only be given once"
      ),
      (["request", "--link", "unix:/x", "-oa", "--output", "b", "/"], "--output can only be given once"),
      (["help", "nonsuch"], "Unknown command \"nonsuch\""),
      (["help", "gatway"], "Did you mean \"gateway\"?"),
      (["help", "trust", "ad"], "Did you mean \"add\"?"),
    ])
  func usage(_ arguments: [String], _ hint: String) async throws {
    let line = try await errorLine(arguments, status: 64)
    #expect(line.contains(hint), "\(line)")
  }

  @Test("a missing link exits with 69", arguments: [["ping", "-c", "1"], ["request", "/"]])
  func noLink(_ arguments: [String]) async throws {
    let line = try await errorLine(arguments + ["--link", "unix:/nowhere/l"], status: 69)
    #expect(line.contains("/nowhere"))
  }

  @Test("a gateway that cannot listen on its link exits with 69")
  func noListener() async throws {
    let holder = try await BywayProcess.gateway(["--link", "tcp://127.0.0.1:0", "--origin", "http://127.0.0.1:1"])
    let line = try await errorLine(["gateway", "--link", holder.ready, "--origin", "http://127.0.0.1:1"], status: 69)
    #expect(line.contains("is already in use"))
    await holder.process.stop()
  }

  @Test("unreadable input files exit with 66, and output files that cannot be created with 73")
  func files() async throws {
    _ = try await errorLine(["gateway", "--config", "/nowhere/c"], status: 66)
    let line = try await errorLine(
      ["gateway", "--link", "unix:/nowhere/l", "--origin", "http://127.0.0.1:1"], status: 73)
    #expect(line.contains("/nowhere"))
    _ = try await errorLine(["request", "--link", "unix:/x", "-T", "/nowhere/f", "/"], status: 66)
    _ = try await errorLine(["request", "--link", "unix:/x", "-o", "/nowhere/f", "/"], status: 73)
    _ = try await errorLine(["request", "--link", "unix:/x", "-o", "/", "/"], status: 73)
    let gateway = ["gateway", "--link", "tcp://127.0.0.1:0", "--origin", "https://127.0.0.1:1"]
    _ = try await errorLine(gateway + ["--trust", "/nowhere/f"], status: 66)
    _ = try await errorLine(gateway + ["--trust", "/dev/null"], status: 66)
    _ = try await errorLine(gateway + ["--replay", "/nowhere/f"], status: 66)
    _ = try await errorLine(gateway + ["--stub", "/nowhere/f"], status: 66)
    _ = try await errorLine(gateway + ["--record", "/nowhere/f/g"], status: 73)
    let proxy = ["proxy", "--link", "unix:/nowhere/l", "--listen", "127.0.0.1:0"]
    _ = try await errorLine(proxy + ["--cache", "/nowhere/f/g"], status: 73)
    _ = try await errorLine(gateway + ["--trace", "/nowhere/f.har"], status: 73)
  }

  @Test(
    "--help exits with 0",
    arguments: [["--help"], [], ["help"], ["help", "gateway"], ["help", "trust", "add"], ["request", "--help"]])
  func help(_ arguments: [String]) async throws {
    let result = try await BywayProcess.run(arguments)
    #expect(result.exitCode == 0)
    #expect(result.text.contains("USAGE: byway"))
    #expect(result.errorText.isEmpty)
  }
}
