import BywayLineEmulation
import Foundation
import TestPeers
import Testing

extension SerialEndToEnd {
  /// A process at one end of a line that is restarted, while the line itself stays connected.
  @Suite("Restart on a serial line") struct RestartTests {
    @Test("when the gateway restarts, a GET is repeated, and a POST fails at once with the reason")
    func gateway() async throws {
      let passage = try await SerialPassage(LineConfiguration())
      let url = try passage.url
      async let get = Curl.fetch(url + "/held?ms=3000", within: .seconds(60))
      async let post = Curl.fetch("-d", "x", url + "/held?ms=50000", within: .seconds(60))
      #expect(try await passage.arrivals(atLeast: 2).count == 2)

      try await passage.gateway.kill()
      let next = try await SerialPassage.gateway(on: passage.line.far, to: passage.origin)
      let ready = ContinuousClock.now
      let problem = try await post.problem()
      let delay = ContinuousClock.now - ready
      #expect(problem.status == 502)
      #expect(problem.proxyStatus.contains("error=connection_terminated"), "\(problem.proxyStatus)")
      #expect(problem.words.contains("was restarted"), "\(problem.words)")
      // 0.5 s on an idle machine. Detection by silence alone would take 15 s.
      #expect(delay < .seconds(8), "\(delay)")

      #expect(try await get.status == 200)
      let arrivals = try await passage.arrivals()
      #expect(arrivals.filter { $0.hasPrefix("GET") }.count == 2)
      #expect(arrivals.filter { $0.hasPrefix("POST") }.count == 1)
      await next.process.stop()
      await passage.stop()
    }

    @Test("when the proxy restarts within a download, no bytes of the old session reach the new one")
    func proxy() async throws {
      let passage = try await SerialPassage(LineConfiguration(baud: 230_400))
      var proxy = passage.proxy
      for round in 1...3 {
        let before = passage.line.toClient.delivered
        let download = try ChildProcess(
          Program.curl.path(), ["-q", "-sS", "-o", "/dev/null", try proxy.url + "/noise?size=1000000"])
        try await EndToEnd.waitUntil("the download has begun") { passage.line.toClient.delivered > before + 20_000 }
        try await proxy.kill()
        #expect(await download.waitForExit(within: .seconds(10)) != .code(0))

        proxy = try await SerialPassage.proxy(on: passage.line.near)
        let url = try proxy.url
        try await withThrowingTaskGroup(of: Void.self) { requests in
          for number in 0..<5 {
            requests.addTask {
              let target = "/noise?seed=\(round * 10 + number)&size=5000"
              let answer = try await Curl.fetch(url + target)
              let expected = try await passage.direct(target)
              #expect(answer.status == 200 && answer.body == expected.body, "\(round) \(number): \(answer.errorText)")
            }
          }
          try await requests.waitForAll()
        }
      }
      let restarts = passage.gateway.log.split(separator: "\n").filter { $0.contains("reason=peerRestarted") }
      #expect(restarts.count == 3, "\(passage.gateway.log)")
      await proxy.process.stop()
      await passage.stop()
    }
  }
}
