import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// Links and ports that are missing, not permitted, or in use.
  @Suite("Availability") struct AvailabilityTests {
    @Test("byway request reports a missing socket") func absentSocket() async throws {
      let folder = try TemporaryFolder()
      let result = try await BywayProcess.run(["request", "--link", "unix:\(folder["none"])", "http://device/"])
      EndToEnd.expect(result, code: 69, words: [folder["none"]])
    }

    @Test("the proxy answers 503 and names a missing socket") func absentSocketAtProxy() async throws {
      let folder = try TemporaryFolder()
      let proxy = try await BywayProcess.proxy(["--link", "unix:\(folder["none"])", "--listen", "127.0.0.1:0"])
      let problem = try await Curl.fetch("http://\(proxy.endpoint())/").problem()
      #expect(problem.status == 503 || problem.status == 502)
      #expect(problem.words.contains(folder["none"]))
      await proxy.process.stop()
    }

    @Test("a gateway does not take the socket of another running gateway") func liveSocket() async throws {
      let bare = try await BareGateway()
      let result = try await BywayProcess.run([
        "gateway", "--link", "unix:\(bare.socket)", "--origin", "http://127.0.0.1:1",
      ])
      EndToEnd.expect(result, code: 69, words: ["in use", bare.socket])
      #expect(try await bare.curl("http://device/").status == 200)
      await bare.stop()
    }

    @Test("a gateway replaces the socket of one that was killed") func staleSocket() async throws {
      let bare = try await BareGateway()
      bare.gateway.process.send(SIGKILL)
      _ = await bare.gateway.process.waitForExit(within: .seconds(5))
      #expect(FileManager.default.fileExists(atPath: bare.socket))
      let next = try await BywayProcess.gateway([
        "--link", "unix:\(bare.socket)", "--origin", "\(bare.origin.endpoint)",
      ])
      #expect(try await bare.curl("http://device/").status == 200)
      await next.process.stop()
      #expect(!FileManager.default.fileExists(atPath: bare.socket))
      await bare.stop()
    }

    @Test("a port in use is reported by its number") func portInUse() async throws {
      let origin = try await OriginServer()
      let result = try await BywayProcess.run(["proxy", "--link", "unix:/tmp/none", "--listen", "\(origin.endpoint)"])
      EndToEnd.expect(result, code: 69, words: ["in use", "\(origin.endpoint)"])
      await origin.stop()
    }

    @Test("a missing command is reported by its name") func absentCommand() async throws {
      let result = try await BywayProcess.run(["request", "--link", "exec:no-such-command x", "http://device/"])
      EndToEnd.expect(result, code: 69, words: ["no-such-command"])
    }
  }
}
