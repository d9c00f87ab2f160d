import BywayLineEmulation
import Foundation
import TestPeers
import TestTools
import Testing

extension Waiting {
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

    @Test(
      "a gateway and a proxy without requests do not wait for an interrupted line when they are stopped",
      arguments: Cut.Kind.allCases)
    func interruptedLine(_ kind: Cut.Kind) async throws {
      let passage = try await SerialPassage(LineConfiguration(baud: 230_400))
      #expect(try await Curl.fetch(passage.url + "/").status == 200)
      // A gateway whose response was not acknowledged would wait for the line.
      try await settled(for: .seconds(1)) { passage.line.toClient.delivered + passage.line.toGateway.delivered }
      passage.line.cut(kind)
      let ends = [passage.gateway, passage.proxy]
      for end in ends { end.terminate() }
      // Less than the drain time, 10 s, and than the grace period of a session, 30 s. Silence takes 3 s to notice.
      for end in ends { #expect(await end.process.waitForExit(within: .seconds(8)) == .code(0), "\(kind): \(end.log)") }
      await passage.stop()
    }

    @Test("a request on an interrupted line gets the drain time of a gateway and no more")
    func drainOnInterruptedLine() async throws {
      let line = try SerialLine(LineConfiguration(baud: 230_400))
      let folder = try TemporaryFolder()
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let gateway = try await BywayProcess.gateway(
        ["--link", line.far, "--origin", "\(origin.endpoint)", "--drain", "2"])
      let proxy = try await SerialPassage.proxy(on: line.near)
      #expect(try await Curl.fetch(proxy.url + "/").status == 200)
      async let running = Curl.fetch(proxy.url + "/noise?seed=1&size=200000", within: .seconds(60))
      try await EndToEnd.waitUntil("the download has begun", within: .seconds(10)) { line.toClient.delivered > 20_000 }
      line.cut(.hangUp)
      gateway.terminate()
      #expect(await gateway.process.waitForExit(within: .seconds(6)) == .code(0))
      line.restore()
      await proxy.process.stop()
      #expect(try await running.body.count < 200_000)
      await origin.stop()
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
