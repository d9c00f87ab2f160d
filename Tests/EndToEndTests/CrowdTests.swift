import Foundation
import TestPeers
import TestTools
import Testing

extension Waiting {
  /// More connections than available descriptors.
  @Suite("Many connections") struct CrowdTests {
    /// Returns the log lines about connections that could not be accepted.
    private func complaints(_ proxy: BywayProcess) -> [Substring] {
      proxy.log.split(separator: "\n").filter { $0.contains("accept") || $0.contains("connections") }
    }

    @Test("200 incomplete requests do not block a proxy with 128 descriptors") func halfRequests()
      async throws
    {
      let bare = try await BareGateway()
      let proxy = try await BywayProcess.proxy(
        ["--link", "unix:\(bare.socket)", "--listen", "127.0.0.1:0"], descriptors: 128)
      let address = try "\(proxy.endpoint())"
      let crowd = try Script.http1.start("crowd", address, "/", "--count", "200")
      _ = try await crowd.outputLine(containing: "crowded", within: .seconds(20))
      let answer = try await Curl.fetch("http://\(address)/", within: .seconds(30))
      #expect(answer.status == 200)
      #expect((1...4).contains(complaints(proxy).count), "\(proxy.log)")
      await crowd.stop()
      #expect(try await Curl.fetch("http://\(address)/").status == 200)
      await proxy.process.stop()
      await bare.stop()
    }

    @Test("a hub with 200 silent connections still serves its users") func silentDevices()
      async throws
    {
      let certificates = try await Certificates()
      let port = try Endpoint.freePort()
      let hub = "tls://127.0.0.1:\(port)?\(certificates.server.options)&ca=\(certificates.authority)"
      let proxy = try await BywayProcess.proxy(["--hub", hub, "--listen", "127.0.0.1:0"], descriptors: 128)
      let crowd = try ChildProcess(
        Program.python.path(),
        [
          "-c",
          "import socket, time; s = [socket.create_connection(('127.0.0.1', \(port))) for _ in range(200)]; "
            + "print('crowded', flush=True); time.sleep(60)",
        ])
      _ = try await crowd.outputLine(containing: "crowded", within: .seconds(20))
      let address = try "\(proxy.endpoint())"
      for _ in 0..<10 {
        #expect(try await Curl.fetch("http://\(address)/devices.json", within: .seconds(10)).status == 200)
      }
      await crowd.stop()
      await proxy.process.stop()
    }

    @Test("five clients that fill a link with idle tunnels do not block another client") func idleTunnels()
      async throws
    {
      let bare = try await BareGateway(["--allow", "127.0.0.1:*"])
      let proxy = try await BywayProcess.proxy(["--link", "unix:\(bare.socket)", "--listen", "127.0.0.1:0"])
      let address = try "\(proxy.endpoint())"
      // As an IP address, the proxy itself would be a destination that the gateway allows.
      let port = try #require(address.split(separator: ":").last)
      let crowd = try Script.http2.start(address, "/", "--crowd", "5", "--count", "250", "--deadline", "60")
      _ = try await crowd.outputLine(containing: "crowded", within: .seconds(60))
      for _ in 0..<3 {
        let answer = try await Curl.fetch("http://localhost:\(port)/", within: .seconds(30))
        #expect(answer.status == 200)
      }
      await crowd.stop()
      await proxy.process.stop()
      await bare.stop()
    }

    @Test("three clients with ninety requests each to a slow origin do not block another client") func slowOrigin()
      async throws
    {
      let bare = try await BareGateway()
      let answer = try await answer(besideSlowRequestsTo: bare.socket)
      #expect(answer.status == 200)
      #expect(answer.total < 8, "\(answer.total)")
      await bare.stop()
    }

    @Test("a client that a gateway with few descriptors cannot serve beside slow requests gets 503 in time")
    func slowOriginAndFewDescriptors() async throws {
      let folder = try TemporaryFolder()
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let gateway = try await BywayProcess.gateway(
        ["--link", "unix:\(folder["l"])", "--origin", "\(origin.endpoint)"], descriptors: 128)
      let answer = try await answer(besideSlowRequestsTo: folder["l"])
      let problem = try answer.problem()
      #expect(problem.status == 503)
      #expect(problem.words.contains("requests at once, and none of them ended in time"), "\(problem.words)")
      #expect(answer.total < 20, "\(answer.total)")
      await gateway.process.stop()
      await origin.stop()
    }

    /// Returns the answer to one client while three others wait for ninety slow responses each, all behind one proxy.
    private func answer(besideSlowRequestsTo socket: String) async throws -> CurlAnswer {
      let proxy = try await BywayProcess.proxy(["--link", "unix:\(socket)", "--listen", "127.0.0.1:0"])
      let address = try "\(proxy.endpoint())"
      let crowd = try Script.http2.start(
        address, "/slow-head?ms=50000", "--host", address, "--crowd", "3", "--count", "90", "--requests", "--deadline",
        "60")
      _ = try await crowd.outputLine(containing: "crowded", within: .seconds(60))
      let answer = try await Curl.fetch("http://\(address)/", within: .seconds(40))
      await crowd.stop()
      await proxy.process.stop()
      return answer
    }

    @Test("running requests continue at the connection limit, and a waiting one starts when one ends") func limit()
      async throws
    {
      let bare = try await BareGateway()
      let proxy = try await BywayProcess.proxy([
        "--link", "unix:\(bare.socket)", "--listen", "127.0.0.1:0", "--max-connections", "2",
      ])
      let address = try "\(proxy.endpoint())"
      async let first = Curl.fetch("http://\(address)/slow-head?ms=3000")
      async let second = Curl.fetch("http://\(address)/slow-head?ms=3000")
      try await EndToEnd.waitUntil("both places are taken") { !complaints(proxy).isEmpty }
      let third = try await Curl.fetch("http://\(address)/")
      #expect(third.status == 200)
      #expect(try await first.status == 200)
      #expect(try await second.status == 200)
      await proxy.process.stop()
      await bare.stop()
    }

    @Test("without free descriptors a listener waits silently, and continues when there are some") func exhaustion()
      async throws
    {
      let bare = try await BareGateway()
      let proxy = try await BywayProcess.proxy(["--link", "unix:\(bare.socket)", "--listen", "127.0.0.1:0"])
      let address = try "\(proxy.endpoint())"
      #expect(try await Curl.fetch("http://\(address)/").status == 200)
      try await proxy.limitDescriptors(toMore: 4)
      let crowd = try Script.http1.start("crowd", address, "/", "--count", "40")
      _ = try await proxy.process.errorLine(containing: "Could not accept", within: .seconds(10))
      let before = try proxy.processorTime()
      let isBusy = try await eventually(within: .seconds(2)) {
        try proxy.processorTime() - before >= .milliseconds(500)
      }
      #expect(!isBusy)
      #expect(complaints(proxy).count == 1, "\(proxy.log)")
      await crowd.stop()
      #expect(try await Curl.fetch("http://\(address)/", within: .seconds(20)).status == 200)
      await proxy.process.stop()
      await bare.stop()
    }

    @Test("a connection limit above the descriptor limit is refused at the start") func tooMany() async throws {
      let result = try await Program.bash.run([
        "-c", "ulimit -n 128 && exec \"$0\" \"$@\"", BywayProcess.command(), "proxy", "--link", "unix:/tmp/none",
        "--listen", "127.0.0.1:0", "--max-connections", "100",
      ])
      EndToEnd.expect(result, code: 64, words: ["--max-connections 100", "ulimit -n"])
    }
  }
}
