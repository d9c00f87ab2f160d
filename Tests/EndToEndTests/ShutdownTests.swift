import Foundation
import TestPeers
import Testing

extension EndToEnd {
  @Suite("Shutdown") struct ShutdownTests {
    @Test("a gateway finishes a running request after SIGTERM, and exits with 0") func gatewayDrains() async throws {
      let bare = try await BareGateway(["--drain", "10"])
      async let running = bare.curl("http://device/slow-body?count=10&ms=100")
      try await letItBegin(bare)
      bare.gateway.terminate()
      #expect(try await running.text == String(repeating: ".", count: 10))
      #expect(await bare.gateway.process.waitForExit(within: .seconds(10)) == .code(0))
      #expect(!FileManager.default.fileExists(atPath: bare.socket))
      await bare.stop()
    }

    @Test(
      "a proxy finishes a running request after SIGTERM, and exits with 0",
      arguments: LinkKind.allCases) func proxyDrains(_ kind: LinkKind) async throws
    {
      let passage = try await Passage(over: kind, proxy: ["--drain", "10"])
      let events = try Script.http1.start(
        "events", passage.host, "/events?ms=100&count=15", "--host", passage.host, "--count", "15")
      let first = try await Curl.fetch(passage.url + "/slow-head?ms=300")
      #expect(first.status == 200)
      passage.proxy.terminate()
      #expect(await events.waitForExit(within: .seconds(10)) == .code(0))
      await events.waitForOutput(within: .seconds(1))
      #expect(try JSONDecoder().decode(EventsAnswer.self, from: events.output).count == 15)
      #expect(await passage.proxy.process.waitForExit(within: .seconds(10)) == .code(0))
      await passage.stop()
    }

    @Test("a request that outlasts the drain time is aborted, and the exit code is 0") func drainEnds() async throws {
      let bare = try await BareGateway(["--drain", "1"])
      async let running = bare.curl("http://device/stall")
      try await letItBegin(bare)
      bare.gateway.terminate()
      #expect(await bare.gateway.process.waitForExit(within: .seconds(6)) == .code(0))
      #expect(try await running.exitCode != 0)
      await bare.stop()
    }

    @Test("SIGINT has the same effect as SIGTERM, and ends an idle process at once") func interrupt() async throws {
      let bare = try await BareGateway()
      bare.gateway.process.send(SIGINT)
      #expect(await bare.gateway.process.waitForExit(within: .seconds(3)) == .code(0))
      await bare.stop()
    }

    /// Sends a second, slower request: when it is answered, the earlier one is in progress.
    private func letItBegin(_ bare: BareGateway) async throws {
      #expect(try await bare.curl("http://device/slow-head?ms=400").status == 200)
    }
  }
}
