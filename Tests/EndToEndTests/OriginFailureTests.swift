import Foundation
import TestPeers
import Testing

extension EndToEnd {
  /// Faulty origins. Every failure must be a response that describes it, or an error at the client, and never a short success.
  @Suite("Failures of the origin") struct OriginFailureTests {
    static let beforeTheHead = [
      "/hang-up", "/half-head", "/reset?after=-1", "/garbage", "/conflicting-lengths", "/length-and-chunked",
      "/control-in-field", "/folded-field", "/endless-head", "/endless-informational",
    ]
    static let inTheBody = ["/truncated", "/truncated-chunks", "/reset?after=100", "/bad-chunk-size"]

    @Test("an invalid response of the origin becomes 502", arguments: LinkKind.allCases)
    func badAnswers(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      for path in Self.beforeTheHead {
        let answer = try await Curl.fetch(passage.url + path)
        #expect(try answer.problem().status == 502, "\(path)")
      }
      #expect(try await Curl.fetch(passage.url + "/").status == 200)
      await passage.stop()
    }

    @Test("a truncated body of the origin is an error of curl over HTTP/1.1", arguments: inTheBody)
    func brokenBody(_ path: String) async throws {
      let passage = try await Passage(over: .unix)
      let answer = try await Curl.fetch(passage.url + path)
      // A fault that arrives together with the head may still be reported as a status.
      #expect([18, 56].contains(answer.exitCode) || answer.status == 502, "\(answer.exitCode) \(answer.status)")
      await passage.stop()
    }

    @Test(
      "a truncated body of the origin resets the stream over HTTP/2",
      arguments: inTheBody) func brokenStream(_ path: String) async throws
    {
      let bare = try await BareGateway()
      #expect(try await bare.curl("http://device" + path).exitCode == 92)
      #expect(try await bare.curl("http://device/").status == 200)
      await bare.stop()
    }

    @Test("a truncated body of the origin fails byway request, which leaves no file", arguments: inTheBody)
    func brokenFile(_ path: String) async throws {
      let bare = try await BareGateway()
      let file = bare.folder["out"]
      let result = try await BywayProcess.run(["request", "--link", "unix:\(bare.socket)", "-o", file, path])
      #expect(result.exitCode != 0)
      #expect(!result.errorText.isEmpty)
      #expect((try? String(contentsOfFile: file, encoding: .utf8)) == nil)
      await bare.stop()
    }

    @Test("an origin that is down is reported", arguments: LinkKind.allCases) func down(_ kind: LinkKind) async throws {
      let port = try Endpoint.freePort()
      let passage = try await Passage(over: kind, to: "http://127.0.0.1:\(port)")
      let problem = try await Curl.fetch(passage.url + "/").problem()
      #expect(problem.status == 503)
      #expect(
        problem.words.contains("Nothing listens at http://127.0.0.1:\(port): start the origin"), "\(problem.words)")
      await passage.stop()
    }

    @Test("an origin that does not respond in time is reported") func silent() async throws {
      let passage = try await Passage(over: .unix, gateway: ["--response-timeout", "1"])
      let answer = try await Curl.fetch(passage.url + "/silent")
      let problem = try answer.problem()
      #expect(problem.status == 504)
      #expect(problem.words.contains("sent no response within 1 s (--response-timeout)"), "\(problem.words)")
      #expect(answer.total < 10)
      await passage.stop()
    }

    @Test("an unknown host name and an allowed server that is down are reported") func named() async throws {
      let port = try Endpoint.freePort()
      let passage = try await Passage(
        over: .unix, gateway: ["--allow", "no.invalid:80", "--allow", "127.0.0.1:\(port)"])
      let unknown = try await Curl.fetch("-x", passage.url, "http://no.invalid/").problem()
      #expect(unknown.words.contains("The host name in http://no.invalid:80 cannot be resolved"), "\(unknown.words)")
      let down = try await Curl.fetch("-x", passage.url, "--noproxy", "", "http://127.0.0.1:\(port)/").problem()
      #expect(down.words.contains("start the server there") && !down.words.contains("--origin"), "\(down.words)")
      await passage.stop()
    }

    @Test("an origin that stops within its response is reported") func stalled() async throws {
      let passage = try await Passage(over: .unix, gateway: ["--body-timeout", "1"])
      let answer = try await Curl.fetch(passage.url + "/stall")
      #expect(answer.exitCode == 18 || answer.exitCode == 56, "\(answer.exitCode)")
      #expect(answer.total < 10)
      await passage.stop()
    }

    @Test("a POST is sent once, even if the connection breaks after it") func once() async throws {
      let passage = try await Passage(over: .unix)
      for _ in 0..<3 { #expect(try await Curl.fetch("-d", "x", passage.url + "/count").status == 200) }
      _ = try await Curl.fetch("-d", "x", passage.url + "/hang-up")
      #expect(try await Curl.fetch(passage.url + "/count").json(Count.self).posts == 3)
      await passage.stop()
    }
  }
}
