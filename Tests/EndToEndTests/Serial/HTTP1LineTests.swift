import BywayLineEmulation
import Foundation
import TestPeers
import TestTools
import Testing

extension SerialEndToEnd {
  /// A line with `?http=1.1` leads to an ordinary server behind an end that has only the line layer.
  @Suite("HTTP/1.1 on a serial line") struct HTTP1LineTests {
    @Test(
      "six concurrent requests share the one session of a line, and are served in order",
      arguments: ["HTTP/1.1", "HTTP/1.0"])
    func sharing(_ version: String) async throws {
      let folder = try TemporaryFolder()
      let size = 6000
      for index in 0..<6 {
        try folder.write(String(repeating: "\(index)", count: size), to: "file\(index)")
      }
      let port = try Endpoint.freePort()
      let server = try ChildProcess(
        Program.python.path(),
        ["-m", "http.server", "--protocol", version, "--bind", "127.0.0.1", "--directory", folder.path, "\(port)"])
      try await Endpoint.tcp(port).waitUntilReachable(by: server)
      let line = try SerialLine(LineConfiguration(baud: 115_200))
      let end = try await BareLineEnd.start(on: line.far, port: port)
      let proxy = try await BywayProcess.proxy(["--link", line.near + "&http=1.1", "--listen", "127.0.0.1:0"])
      let url = try proxy.url

      // Each response takes half a second of the line, so the other requests arrive during the first.
      let answers = try await withThrowingTaskGroup(of: (Int, CurlAnswer).self) { requests in
        for index in 0..<6 {
          let progress = folder["curl\(index)"]
          requests.addTask {
            (index, try await Curl.fetch(Curl.sending(to: progress) + [url + "/file\(index)"], within: .seconds(60)))
          }
          try await Curl.waitUntilSent(by: progress)
        }
        return try await requests.reduce(into: [Int: CurlAnswer]()) { $0[$1.0] = $1.1 }
      }
      for index in 0..<6 {
        let text = answers[index]?.text
        #expect(answers[index]?.status == 200 && text == String(repeating: "\(index)", count: size), "\(text ?? "")")
      }
      await proxy.process.stop()
      await server.stop()
      let served = server.errorText.split(separator: "\n").compactMap { $0.firstMatch(of: /GET \/file(\d)/)?.1 }
      #expect(served.map(String.init) == (0..<6).map(String.init))
      #expect(end.counts.most == 1)
      #expect(end.counts.all == (version == "HTTP/1.1" ? 1 : 6))
      await end.stop()
    }

    @Test("a gateway serves HTTP/1.1 on a line, and continues a transfer after errors")
    func gateway() async throws {
      let origin = try await OriginServer()
      let line = try SerialLine(LineConfiguration(baud: 921_600, faults: [BitFlips(rate: 1e-5)]))
      let gateway = try await SerialPassage.gateway(on: line.far, to: origin)
      let proxy = try await BywayProcess.proxy(["--link", line.near + "&http=1.1", "--listen", "127.0.0.1:0"])
      let url = try proxy.url
      let direct = try await Curl.fetch("http://\(origin.endpoint)/bytes?size=100000")
      let body = try await Curl.fetch(["\(url)/bytes?size=100000"], within: .seconds(60))
      #expect(body.status == 200 && body.body == direct.body)
      #expect(try await Curl.fetch(url + "/").text == "hello, byway\n")
      await proxy.process.stop()
      await gateway.process.stop()
      await origin.stop()
    }

    @Test("requests of all methods share the one session of a line")
    func posts() async throws {
      struct Echo: Decodable {
        let method: String
        let request: Int
      }
      let origin = try await OriginServer()
      let line = try SerialLine(LineConfiguration(baud: 115_200))
      let end = try await BareLineEnd.start(on: line.far, port: #require(origin.endpoint.port))
      let proxy = try await BywayProcess.proxy(["--link", line.near + "&http=1.1", "--listen", "127.0.0.1:0"])
      let url = try proxy.url + "/echo"
      for (index, arguments) in [[url], ["-d", "one", url], ["-d", "two", url], [url]].enumerated() {
        #expect(try await Curl.fetch(arguments).json(Echo.self).request == index + 1)
        // Also after an idle time.
        try await settled(for: .milliseconds(200)) { [line.toGateway.sent, line.toClient.sent] }
      }
      #expect(end.counts.all == 1)
      await proxy.process.stop()
      await end.stop()
      await origin.stop()
    }
  }
}
