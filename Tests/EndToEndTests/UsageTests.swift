import TestPeers
import Testing

extension EndToEnd {
  /// A misspelled word is answered with the intended one, and exit code 64.
  @Suite("Usage errors") struct UsageTests {
    @Test(
      "a misspelled scheme or option is reported with the nearest one",
      arguments: [
        (["gateway", "--link", "unx:/tmp/x", "--origin", "http://127.0.0.1:1"], "unix"),
        (["gateway", "--link", "unix:/tmp/x?mod=0600", "--origin", "http://127.0.0.1:1"], "mode"),
        (["proxy", "--link", "tpc://127.0.0.1:1", "--listen", "127.0.0.1:0"], "tcp"),
        (["gateway", "--link", "unix:/tmp/x", "--origin", "htp://127.0.0.1:1"], "http"),
        (["gateway", "--lnk", "unix:/tmp/x", "--origin", "http://127.0.0.1:1"], "--link"),
      ])
    func misspelling(_ arguments: [String], _ meant: String) async throws {
      EndToEnd.expect(try await BywayProcess.run(arguments), code: 64, words: [meant])
    }

    @Test(
      "a missing option is reported by name",
      arguments: [
        (["gateway", "--link", "unix:/tmp/x"], "--origin"),
        (["gateway", "--origin", "http://127.0.0.1:1"], "--link"),
        (["proxy", "--link", "unix:/tmp/x"], "--listen"),
        (["request", "http://x/"], "--link"),
      ])
    func missing(_ arguments: [String], _ name: String) async throws {
      EndToEnd.expect(try await BywayProcess.run(arguments), code: 64, words: [name])
    }

    @Test("an address that is not loopback is refused without TLS, with advice") func exposure() async throws {
      let result = try await BywayProcess.run([
        "gateway", "--link", "tcp://0.0.0.0:0", "--origin", "http://127.0.0.1:1",
      ])
      EndToEnd.expect(result, code: 64, words: ["tls"])
    }
  }
}
