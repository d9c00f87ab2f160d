import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// Links and ports that are not there, not ours, or in use.
  @Suite("Availability") struct AvailabilityTests {
    @Test("no such socket") func absentSocket() async throws {
      let folder = try TemporaryFolder()
      let result = try await BywayProcess.run(["request", "--link", "unix:\(folder["none"])", "http://device/"])
      EndToEnd.expect(result, code: 69, words: [folder["none"]])
    }

    @Test("no such socket: the proxy answers 503 and names it") func absentSocketAtProxy() async throws {
      let folder = try TemporaryFolder()
      let proxy = try await BywayProcess.proxy(["--link", "unix:\(folder["none"])", "--listen", "127.0.0.1:0"])
      let problem = try await Curl.fetch("http://\(proxy.endpoint())/").problem()
      #expect(problem.status == 503 || problem.status == 502)
      #expect(problem.words.contains(folder["none"]))
      await proxy.process.stop()
    }

    @Test("a socket that a living gateway owns is not taken from it") func liveSocket() async throws {
      let bare = try await BareGateway()
      let result = try await BywayProcess.run([
        "gateway", "--link", "unix:\(bare.socket)", "--origin", "http://127.0.0.1:1",
      ])
      EndToEnd.expect(result, code: 69, words: ["in use", bare.socket])
      #expect(try await bare.curl("http://device/").status == 200)
      await bare.stop()
    }

    @Test("the socket of a gateway that was killed is replaced") func staleSocket() async throws {
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

    @Test("a port in use is named") func portInUse() async throws {
      let origin = try await OriginServer()
      let result = try await BywayProcess.run(["proxy", "--link", "unix:/tmp/none", "--listen", "\(origin.endpoint)"])
      EndToEnd.expect(result, code: 69, words: ["in use", "\(origin.endpoint)"])
      await origin.stop()
    }

    @Test("a command that is not there is named") func absentCommand() async throws {
      let result = try await BywayProcess.run(["request", "--link", "exec:no-such-command x", "http://device/"])
      EndToEnd.expect(result, code: 69, words: ["no-such-command"])
    }
  }
}
