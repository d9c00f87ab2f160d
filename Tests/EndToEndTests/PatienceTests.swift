import BywayLineEmulation
import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// A gateway that does not return, and requests sent to it before and after.
  @Suite("Link timeout") struct PatienceTests {
    @Test(
      "if its gateway was killed, a GET fails after the link timeout without a busy loop, and SIGTERM ends the proxy")
    func killedForGood() async throws {
      let passage = try await Passage(over: .unix, proxy: ["--link-timeout", "2", "--drain", "10"])
      async let held = Curl.fetch(passage.url + "/held?ms=50000", within: .seconds(60))
      let arrivals = "http://origin/arrivals?count=1"
      _ = try await Curl.fetch("--unix-socket", passage.folder["o"], arrivals)
      passage.gateway?.process.send(SIGKILL)
      let killed = ContinuousClock.now

      let later = try await Curl.fetch(passage.url + "/", within: .seconds(60))
      #expect(try later.problem().status == 503)
      #expect((1...4).contains(later.total), "\(later.total)")
      #expect(try await held.problem().status == 503)
      #expect(ContinuousClock.now - killed < .seconds(6))

      let before = try processorTime(of: passage.proxy.process.id)
      let isBusy = try await eventually(within: .seconds(2)) {
        try processorTime(of: passage.proxy.process.id) - before >= 0.4
      }
      #expect(!isBusy)

      let progress = passage.folder["curl"]
      async let waiting = Curl.fetch(Curl.sending(to: progress) + [passage.url + "/"], within: .seconds(60))
      try await Curl.waitUntilSent(by: progress)
      passage.proxy.terminate()
      #expect(await passage.proxy.process.waitForExit(within: .seconds(4)) == .code(0))
      _ = try await waiting
      await passage.stop()
    }

    /// Returns the processor time in seconds.
    private func processorTime(of id: pid_t) throws -> Double {
      let text = try String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8)
      let fields = text.components(separatedBy: ") ").last?.split(separator: " ") ?? []
      guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
        throw PeerFailure("no times in \(text)")
      }
      return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
  }
}

extension Waiting {
  /// The same on a serial line, whose sessions survive interruptions.
  @Suite("Link timeout on a serial line") struct LinePatienceTests {
    @Test("a GET over a serial line fails in time when its gateway stops or is killed")
    func line() async throws {
      let line = try SerialLine(LineConfiguration(baud: 921_600))
      let folder = try TemporaryFolder()
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let proxy = try await BywayProcess.proxy([
        "--link", line.near, "--listen", "127.0.0.1:0", "--link-timeout", "2",
      ])
      let first = try await SerialPassage.gateway(on: line.far, to: origin)
      #expect(try await Curl.fetch(proxy.url + "/").status == 200)
      await first.process.stop()
      let idle = try await Curl.fetch(proxy.url + "/", within: .seconds(60))
      let problem = try idle.problem()
      #expect([502, 503].contains(problem.status))
      // The request may have been sent on the old session, whose end is detected after 5 s.
      #expect(idle.total < 15, "\(idle.total)")

      let second = try await SerialPassage.gateway(on: line.far, to: origin)
      try await EndToEnd.waitUntil("the link is back") { try await Curl.fetch(proxy.url + "/").status == 200 }
      async let held = Curl.fetch(proxy.url + "/held?ms=50000", within: .seconds(60))
      _ = try await Curl.fetch("--unix-socket", folder["o"], "http://origin/arrivals?count=1")
      try await second.kill()
      // If the gateway has acknowledged the request, the client asks after 10 s of silence. The session then waits 30 s for the
      // line, and the repeated GET 2 s for a link.
      let answer = try await held
      #expect(answer.status >= 502, "\(answer.status)")
      #expect(answer.total < 45, "\(answer.total)")
      await proxy.process.stop()
      await origin.stop()
    }
  }
}
