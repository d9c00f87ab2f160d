import Foundation
import TestPeers
import TestTools
import TestWire
import Testing

extension EndToEnd {
  /// The checks of `unix:` over links that need certificates or a broker.
  @Suite("Links over networks") struct NetworkLinkTests {
    private static let size = 10 << 20

    @Test(
      "ten mebibytes each way, 200 requests at once, a WebSocket and events pass, and lost connections and gateways are replaced",
      arguments: NetworkLink.allCases)
    func carries(_ kind: NetworkLink) async throws {
      // Its programs take a second to start, so all checks share one passage.
      let passage = try await NetworkPassage(over: kind)
      let host = try "\(passage.proxy.endpoint())"
      try await transfers(host, passage.folder)
      try await streams(host)
      // MQTTLinkTests kills the broker.
      if !kind.hasBroker { try await losesConnection(passage) }
      try await losesGateway(passage)
      await passage.stop()
    }

    private func transfers(_ host: String, _ folder: TemporaryFolder) async throws {
      let file = try MarkedFile(at: folder["f"], size: Self.size)
      let digest = try await Curl.digest("file://\(file.path)")
      #expect(try await Curl.digest("http://\(host)/bytes?size=\(Self.size)") == digest)
      let upload = try await Curl.fetch("-T", file.path, "http://\(host)/digest", within: .seconds(60))
      #expect(try upload.json() == Upload(length: Self.size, sha256: digest))
      let burst = try await Script.http1.run(
        "burst", host, "/slow-head?ms=50", "--host", host, "--count", "200", as: BurstAnswer.self)
      #expect(burst.answers == 200 && burst.statuses == [200] && burst.bodies == 1)
    }

    private func streams(_ host: String) async throws {
      let socket = try await Script.http1.run(
        "websocket", host, "/websocket", "--host", host, "--pieces", "2", as: WebSocketAnswer.self)
      #expect(socket.status == 101)
      #expect(socket.echoed == [0, 5, 125, 126, 65535, 65536, 70000])
      // The origin pauses after the event. One that is held back until the next comes late.
      let events = try await Script.http1.run(
        "events", host, "/events?ms=3000&count=2", "--host", host, "--count", "1", as: EventsAnswer.self)
      #expect(events.count == 1 && events.slowest < 3, "\(events)")
    }

    /// Cuts a connection in a download through a relay, which accepts the next one.
    private func losesConnection(_ passage: NetworkPassage) async throws {
      let relay = try await CuttableRelay(to: passage.port, after: Self.size / 2)
      let proxy = try await passage.proxy(through: relay.port)
      let url = try proxy.url
      let cut = try await Curl.fetch(url + "/bytes?size=\(Self.size)")
      #expect(cut.exitCode == 18 || cut.exitCode == 56)
      #expect(cut.body.count < Self.size)
      #expect(try await Curl.fetch(url + "/").text == "hello, byway\n")
      #expect(await proxy.process.stop() == .code(0))
      await relay.stop()
    }

    /// Kills the gateway in a download, and starts the next one.
    private func losesGateway(_ passage: NetworkPassage) async throws {
      let url = try passage.proxy.url
      let body = passage.folder["body"]
      let download = try ChildProcess(
        Program.curl.path(), ["-q", "-sS", "--limit-rate", "20M", "-o", body, url + "/bytes?size=1000000000"])
      try await EndToEnd.waitUntil("the download has begun") {
        (try? FileManager.default.attributesOfItem(atPath: body)[.size] as? Int) ?? 0 > 0
      }
      try await passage.gateway.kill()
      let next = try await passage.nextGateway()
      let exit = await download.waitForExit(within: .seconds(20))
      #expect(exit == .code(18) || exit == .code(56))
      #expect(try await Curl.fetch(url + "/").text == "hello, byway\n")
      #expect(await next.process.stop() == .code(0))
    }
  }
}
