import Foundation
import TestPeers
import TestTools
import Testing

extension Interop {
  /// HTTP/1.1 servers that close connections unannounced, or delay clients.
  @Suite("Kept connections") struct KeptConnectionTests {
    private struct Count: Decodable {
      let posts: Int
    }

    /// Returns the status of each of many requests by one curl.
    private func statuses(_ arguments: [String]) async throws -> [Substring] {
      let own = ["-q", "-s", "--noproxy", "", "-o", "/dev/null", "-w", "%{http_code}\\n"]
      let result = try await Program.curl.run(own + arguments, within: .seconds(60))
      return result.text.split(separator: "\n")
    }

    @Test(
      "no POST is lost or duplicated at an origin that closes idle connections",
      arguments: [0, 1, 20, 300])
    func posts(_ milliseconds: Int) async throws {
      let folder = try TemporaryFolder()
      let origin = try await OriginServer(dropAfter: 1, options: ["--drop-ms", "\(milliseconds)"])
      let link = "unix:\(folder["l"])"
      let gateway = try await BywayProcess.gateway(["--link", link, "--origin", origin.url])
      let proxy = try await BywayProcess.proxy(["--link", link, "--listen", "127.0.0.1:0"])
      let url = "http://\(try proxy.endpoint())/count"
      let count = milliseconds == 300 ? 100 : 300
      let answers = try await statuses(["-d", "x", url + "?[1-\(count)]"])
      #expect(answers.count == count && answers.allSatisfy { $0 == "200" }, "\(answers)")
      #expect(try await Curl.fetch(url).json(Count.self).posts == count)
      await proxy.process.stop()
      await gateway.process.stop()
      await origin.stop()
    }

    @Test(
      "400 requests, 40 at once, reach a server with a socket backlog of five",
      arguments: ["?http=1.1", "as an origin"])
    func backlog(_ place: String) async throws {
      let folder = try TemporaryFolder()
      let server = try await OriginServer(
        on: .unix(folder["o"]), dropAfter: 1, options: ["--backlog", "5", "--accept-ms", "1"])
      var gateway: BywayProcess?
      var link = "unix:\(folder["o"])?http=1.1"
      if place == "as an origin" {
        link = "unix:\(folder["l"])"
        gateway = try await .gateway(["--link", link, "--origin", "unix:\(folder["o"])"])
      }
      let proxy = try await BywayProcess.proxy(["--link", link, "--listen", "127.0.0.1:0"])
      let answers = try await statuses(["-Z", "--parallel-max", "40", "http://\(try proxy.endpoint())/?[1-400]"])
      #expect(answers.count == 400 && answers.allSatisfy { $0 == "200" }, "\(answers)")
      await proxy.process.stop()
      await gateway?.process.stop()
      await server.stop()
    }
  }
}
