import BywayLineEmulation
import Foundation
import TestPeers
import TestTools
import Testing

extension SerialEndToEnd {
  /// Concurrent traffic on a line of 115,200 baud.
  @Suite("Shared serial line") struct SharedLineTests {
    @Test("two hundred concurrent small requests complete over a serial line") func burst() async throws {
      let passage = try await SerialPassage(LineConfiguration())
      let host = try "\(passage.proxy.endpoint())"
      let answer = try await Script.http1.run(
        "burst", host, "/", "--host", host, "--count", "200", "--deadline", "100", as: BurstAnswer.self,
        within: .seconds(120))
      #expect(answer.statuses == [200])
      #expect(answer.answers == 200)
      #expect(answer.bodies == 1)
      await passage.stop()
    }

    @Test("small requests do not wait for an upload and a download on the same line")
    func sharing() async throws {
      let passage = try await SerialPassage(LineConfiguration())
      let url = try passage.url
      let file = passage.folder["file"]
      let size = 80_000
      try await passage.direct("/noise?seed=1&size=\(size)").body.write(to: URL(filePath: file))
      let digest = try await Program.openssl.run(["dgst", "-sha256", "-r", file]).text.prefix(64)

      async let upload = Curl.fetch("-T", file, url + "/digest", within: .seconds(100))
      async let download = Curl.fetch(url + "/noise?seed=1&size=\(size)", within: .seconds(100))
      try await EndToEnd.waitUntil("both have begun") {
        passage.line.toGateway.delivered > 3000 && passage.line.toClient.delivered > 3000
      }
      var times: [Double] = []
      while passage.line.toGateway.delivered < size * 9 / 10, passage.line.toClient.delivered < size * 9 / 10 {
        let small = try await Curl.fetch(url + "/", within: .seconds(60))
        #expect(small.text == "hello, byway\n")
        times.append(small.total)
      }
      #expect(try await upload.json(Upload.self) == Upload(length: size, sha256: String(digest)))
      let downloaded = try await download
      #expect(downloaded.body == (try Data(contentsOf: URL(filePath: file))))
      // About 50 ms on an idle machine; waiting for everything queued would take seven seconds.
      #expect(times.count >= 5)
      #expect(times.sorted()[times.count / 2] < 1, "\(times)")
      await passage.stop()
    }
  }
}

extension Waiting {
  /// A line without requests.
  @Suite("Idle serial line") struct IdleLineTests {
    @Test("an idle line carries at most 30 bytes in 10 s in each direction") func idle() async throws {
      let passage = try await SerialPassage(LineConfiguration())
      #expect(try await Curl.fetch(passage.url + "/").status == 200)
      // The last acknowledgements, and measurements of an idle line.
      try await settled(for: .seconds(2)) { [passage.line.toGateway.sent, passage.line.toClient.sent] }
      let before = (passage.line.toGateway.sent, passage.line.toClient.sent)
      let isBusy = try await eventually(within: .seconds(20)) {
        passage.line.toGateway.sent - before.0 > 60 || passage.line.toClient.sent - before.1 > 60
      }
      #expect(!isBusy, "\(passage.line.toGateway.sent - before.0) \(passage.line.toClient.sent - before.1)")
      #expect(try await Curl.fetch(passage.url + "/").status == 200)
      await passage.stop()
    }
  }
}
