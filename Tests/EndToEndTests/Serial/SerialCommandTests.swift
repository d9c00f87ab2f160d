import BywayLineEmulation
import Foundation
import TestPeers
import TestTools
import Testing

extension SerialEndToEnd {
  /// Commands over good and bad serial lines, as a user sees them.
  @Suite("Commands over a serial line") struct SerialCommandTests {
    @Test("a request succeeds over a serial line") func request() async throws {
      let passage = try await SerialLineWithGateway()
      for _ in 0..<2 {
        let result = try await BywayProcess.run(["request", "--link", passage.line.near, "-d", "x", "/held"])
        #expect(result.exitCode == 0, "\(result.errorText)")
        #expect(result.text == "x")
      }
      await passage.stop()
    }

    @Test("a request succeeds over a line behind a socket of a terminal server") func lineOption() async throws {
      let folder = try TemporaryFolder()
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let link = "unix:\(folder["l"])?line=115200"
      let gateway = try await SerialPassage.gateway(on: link, to: origin)
      for _ in 0..<2 {
        let result = try await BywayProcess.run(["request", "--link", link, "/"])
        #expect(result.exitCode == 0, "\(result.errorText)")
        #expect(result.text == "hello, byway\n")
      }
      let proxy = try await SerialPassage.proxy(on: link)
      #expect(try await Curl.fetch(proxy.url + "/").text == "hello, byway\n")
      let wrong = try await BywayProcess.run(["request", "--link", "unix:\(folder["l"])?line=fast", "/"])
      EndToEnd.expect(wrong, code: 64, words: ["line=fast", "line=115200"])
      await proxy.process.stop()
      await gateway.process.stop()
      await origin.stop()
    }

    @Test("byway request reports a line without a peer") func nobody() async throws {
      let line = try SerialLine(LineConfiguration())
      let result = try await BywayProcess.run(["request", "--link", line.near, "/"])
      EndToEnd.expect(result, code: 69, words: ["No answer on serial:", "No bytes arrive", "byway gateway"])
      #expect(result.duration < .seconds(20))
    }

    @Test("the proxy reports a line without a peer") func nobodyBehindProxy() async throws {
      let line = try SerialLine(LineConfiguration())
      let proxy = try await SerialPassage.proxy(on: line.near)
      let answer = try await Curl.fetch(proxy.url + "/")
      let problem = try answer.problem()
      #expect(problem.status == 503)
      #expect(problem.words.contains("No answer on serial:"), "\(problem.words)")
      #expect(answer.total < 20)
      await proxy.process.stop()
    }

    @Test("byway request suggests the baud rate if the received bytes are garbled") func wrongRate() async throws {
      let bad = LineConfiguration(faults: [BitFlips(rate: 0.4)])
      let passage = try await SerialLineWithGateway(bad, back: LineConfiguration())
      let result = try await BywayProcess.run(["request", "--link", passage.line.near, "/"])
      EndToEnd.expect(result, code: 69, words: ["No answer on serial:", "same baud rate"])
      #expect(result.duration < .seconds(20))
      await passage.stop()
    }

    @Test("byway request reports a line with noise only") func noise() async throws {
      let passage = try await SerialLineWithGateway(
        LineConfiguration(), back: LineConfiguration(faults: [BitFlips(rate: 0.4)]))
      let result = try await BywayProcess.run(["request", "--link", passage.line.near, "/"])
      EndToEnd.expect(result, code: 69, words: ["No answer on serial:", "same baud rate"])
      #expect(!result.errorText.contains("No bytes arrive"))
      await passage.stop()
    }

    @Test(
      "byway request reports a login prompt at the far end, and quotes another program",
      arguments: [
        ("\r\ndevice login: ", ["a login prompt or a shell", "device login:", "byway gateway"]),
        ("\r\ntemperature 21.5", ["text from another program", "temperature 21.5"]),
      ])
    func foreign(_ text: String, _ words: [String]) async throws {
      let line = try SerialLine(
        LineConfiguration(),
        back: LineConfiguration(faults: [ForeignLogLine(every: .milliseconds(200), text: text)]))
      let result = try await BywayProcess.run(["request", "--link", line.near, "/"])
      EndToEnd.expect(result, code: 69, words: ["No answer on serial:"] + words)
    }

    @Test("byway request reports a line that echoes") func echo() async throws {
      let result = try await BywayProcess.run(["request", "--link", "exec:/bin/cat?line=115200", "/"])
      EndToEnd.expect(result, code: 69, words: ["come back", "byway gateway"])
    }

    @Test("byway ping reaches a line in use through its proxy, over TCP or a Unix socket", arguments: [true, false])
    func pingThroughProxy(_ listensOnPort: Bool) async throws {
      let passage = try await SerialLineWithGateway()
      let listen = listensOnPort ? "127.0.0.1:0" : "unix:\(passage.folder["p"])"
      let proxy = try await BywayProcess.proxy(["--link", passage.line.near, "--listen", listen])
      // The proxy opens the line with its first request.
      let address = listensOnPort ? [try proxy.url + "/"] : ["--unix-socket", passage.folder["p"], "http://localhost/"]
      #expect(try await Curl.fetch(address).status == 200)
      let result = try await BywayProcess.run(["ping", "-c2", "-i0.1", "--link", passage.line.near])
      #expect(result.exitCode == 0, "\(result.errorText)")
      #expect(result.errorText.contains("is in use by the proxy at "), "\(result.errorText)")
      #expect(result.text.contains("2 sent, 2 received") && result.text.contains("line: carries "), "\(result.text)")
      await proxy.process.stop()
      await passage.stop()
    }

    @Test("byway request reports that both ends dial") func bothDial() async throws {
      let line = try SerialLine(LineConfiguration())
      let proxy = try await SerialPassage.proxy(on: line.far)
      async let answer = Curl.fetch(proxy.url + "/")
      let result = try await BywayProcess.run(["request", "--link", line.near, "/"])
      EndToEnd.expect(result, code: 69, words: ["Both ends of serial:", "byway gateway"])
      let problem = try await answer.problem()
      #expect(problem.status == 503)
      await proxy.process.stop()
    }

    @Test("a missing serial port is reported") func absent() async throws {
      let result = try await BywayProcess.run(["request", "--link", "serial:/dev/ttyNowhere0", "/"])
      EndToEnd.expect(result, code: 69, words: ["There is no serial port /dev/ttyNowhere0", "There are"])
    }

    @Test("a serial port in use is reported") func inUse() async throws {
      let passage = try await SerialLineWithGateway()
      let result = try await BywayProcess.run(["request", "--link", passage.line.far, "/"])
      EndToEnd.expect(
        result, code: 69, words: ["in use by process \(passage.gateway.process.id)", "send requests through it if"])
      await passage.stop()
    }

    @Test("bodies are exact in spite of a boot log before and a log line each second") func bootLog() async throws {
      let log = (0..<60).map { "[    0.\(100_000 + $0)] Booting Linux, and saying so at length\r\n" }.joined()
      let noisy = LineConfiguration(faults: [ForeignLogLine(every: .seconds(1))])
      let line = try SerialLine(noisy)
      // Bytes that a program finds when it opens the device later, and bytes that arrive meanwhile.
      try line.write(log, at: .a)
      try line.write(log, at: .b)
      let passage = try await SerialPassage(over: line)
      let before = line.toClient.foreign
      for seed in 0..<5 {
        let target = "/noise?seed=\(seed)&size=10000"
        let answer = try await Curl.fetch(passage.url + target)
        let expected = try await passage.direct(target)
        #expect(answer.status == 200 && answer.body == expected.body, "\(answer.errorText)")
        let body = String(repeating: "\(seed)", count: 5000)
        #expect(try await Curl.fetch("-d", body, passage.url + "/held").text == body)
      }
      #expect(line.toClient.foreign > before)
      await passage.stop()
    }
  }
}

/// A gateway on a line, for other clients than the usual proxy.
private struct SerialLineWithGateway {
  let line: SerialLine
  let folder: TemporaryFolder
  let origin: OriginServer
  let gateway: BywayProcess

  init(_ configuration: LineConfiguration = LineConfiguration(), back: LineConfiguration? = nil) async throws {
    line = try SerialLine(configuration, back: back)
    folder = try TemporaryFolder()
    origin = try await OriginServer(on: .unix(folder["o"]))
    gateway = try await SerialPassage.gateway(on: line.far, to: origin)
  }

  func stop() async {
    await gateway.process.stop()
    await origin.stop()
  }
}
