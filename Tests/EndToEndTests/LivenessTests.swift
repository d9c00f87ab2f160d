import Foundation
import TestPeers
import Testing

extension Waiting {
  /// A peer that is connected and silent: no reset and no end of file.
  @Suite("Liveness") struct LivenessTests {
    @Test("requests to a hung gateway fail if they cannot be repeated, and others succeed when it is back")
    func hangingGateway() async throws {
      let passage = try await Passage(over: .unix)
      #expect(try await Curl.fetch(passage.url + "/").status == 200)
      let gateway = try #require(passage.gateway)
      gateway.process.send(SIGSTOP)
      async let post = Curl.fetch("-d", "x", passage.url + "/count", within: .seconds(60))
      async let get = Curl.fetch(passage.url + "/", within: .seconds(60))
      let problem = try await post.problem()
      #expect(problem.status == 502)
      #expect(problem.words.contains("not even the answer to a PING"), "\(problem.words)")
      #expect(try await post.total < 25)
      gateway.process.send(SIGCONT)
      #expect(try await get.status == 200)
      await passage.stop()
    }
  }
}
