import BywayLineEmulation
import Foundation
import TestPeers
import TestTools
import Testing

extension SerialEndToEnd {
  @Suite("Pulled cable") struct PulledCableTests {
    @Test("20 requests complete exactly once although the cable is pulled for 5 s")
    func pulled() async throws {
      try await withThrowingTaskGroup(of: Void.self) { runs in
        for kind in Cut.Kind.allCases { runs.addTask { try await pull(kind) } }
        try await runs.waitForAll()
      }
    }

    private func pull(_ kind: Cut.Kind) async throws {
      let passage = try await SerialPassage(LineConfiguration(baud: 230_400))
      let url = try passage.url
      let body = try passage.folder.write(String(repeating: "\(kind) \(passage.line.seed). ", count: 200), to: "body")
      let text = try Data(contentsOf: URL(filePath: body))
      try await withThrowingTaskGroup(of: Void.self) { requests in
        for number in 0..<10 {
          requests.addTask {
            let post = try await Curl.fetch(
              "--data-binary", "@\(body)", url + "/held?number=\(number)", within: .seconds(90))
            #expect(post.status == 200 && post.body == text, "\(kind) \(number): \(post.text.prefix(300))")
          }
          requests.addTask {
            let target = "/noise?seed=\(number)&size=8000"
            let get = try await Curl.fetch(url + target, within: .seconds(90))
            #expect(get.status == 200 && get.body.count == 8000, "\(kind) \(number): \(get.errorText)")
            let expected = try await passage.direct(target)
            #expect(get.body == expected.body, "\(kind) \(number)")
          }
        }
        requests.addTask {
          try await EndToEnd.waitUntil("\(kind): the answers have begun", within: .seconds(30)) {
            passage.line.toClient.delivered > 20_000
          }
          passage.line.cut(kind)
          let isOver = try await eventually(within: .seconds(5)) { passage.line.toClient.delivered >= 100_000 }
          #expect(!isOver, "\(kind): nothing was left to carry")
          passage.line.restore()
        }
        try await requests.waitForAll()
      }
      if kind == .hangUp {
        for end in [passage.gateway, passage.proxy] {
          _ = try await end.process.errorLine(containing: "Line is back", within: .seconds(5))
        }
      }
      let arrivals = try await passage.arrivals()
      #expect(arrivals.filter { $0.hasPrefix("POST") }.count == 10, "\(kind): \(arrivals)")
      // Ten requests came over the line, and the test sent ten itself, for comparison.
      #expect(arrivals.filter { $0.hasPrefix("GET") }.count == 20, "\(kind): \(arrivals)")
      await passage.stop()
    }
  }
}
