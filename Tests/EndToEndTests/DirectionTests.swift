import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// A gateway that dials, as from behind NAT, and a proxy or a request that waits for it.
  @Suite("Dialing gateways") struct DirectionTests {
    private let folder: TemporaryFolder
    private let origin: OriginServer

    init() async throws {
      folder = try TemporaryFolder()
      origin = try await OriginServer(on: .unix(folder["o"]))
    }

    private func gateway(dialing link: String) async throws -> BywayProcess {
      try await .gateway(["--link", "\(link)?open=dial", "--origin", "\(origin.endpoint)", "--log-level", "debug"])
    }

    /// Starts a proxy that listens for its link, and returns the link that the gateway dials.
    private func proxy(_ link: String, _ options: String...) async throws -> (process: BywayProcess, link: String) {
      let proxy = try await BywayProcess.proxy(
        ["--link", "\(link)?open=listen", "--listen", "127.0.0.1:0"] + options)
      let bound = proxy.ready.components(separatedBy: "→ ").last ?? ""
      return (proxy, bound.components(separatedBy: "?")[0])
    }

    @Test("a gateway dials a proxy, and another one takes its place", arguments: [LinkKind.unix, .tcp])
    func gatewayDials(_ kind: LinkKind) async throws {
      let (proxy, link) = try await proxy(kind == .unix ? "unix:\(folder["l"])" : "tcp://127.0.0.1:0")
      let url = try "http://\(proxy.endpoint())"
      let first = try await gateway(dialing: link)
      for _ in 0..<3 { #expect(try await Curl.fetch(url + "/").text == "hello, byway\n") }
      first.process.send(SIGKILL)
      _ = await first.process.waitForExit(within: .seconds(5))
      let second = try await gateway(dialing: link)
      #expect(try await Curl.fetch(url + "/").text == "hello, byway\n")
      #expect(await second.process.stop() == .code(0))
      #expect(await proxy.process.stop() == .code(0))
      #expect(!FileManager.default.fileExists(atPath: folder["l"]))
    }

    @Test(
      "a gateway dials until a proxy listens, and again after that one has stopped") func perseverance() async throws
    {
      let link = "unix:\(folder["l"])"
      let gateway = try await gateway(dialing: link)
      _ = try await gateway.process.errorLine(containing: "Link unavailable", within: .seconds(10))
      for _ in 0..<2 {
        let (proxy, _) = try await proxy(link, "--link-timeout", "20")
        #expect(try await Curl.fetch("http://\(proxy.endpoint())/").text == "hello, byway\n")
        await proxy.process.stop()
      }
      await gateway.process.stop()
    }

    @Test("byway request waits for the gateway to dial") func request() async throws {
      let link = "unix:\(folder["l"])"
      let gateway = try await gateway(dialing: link)
      let result = try await BywayProcess.run(["request", "--link", "\(link)?open=listen", "http://device/"])
      #expect(result.exitCode == 0, "\(result.errorText)")
      #expect(result.text == "hello, byway\n")
      await gateway.process.stop()
    }

    @Test("a proxy answers that no gateway has dialed") func nobody() async throws {
      let (proxy, _) = try await proxy("unix:\(folder["l"])", "--link-timeout", "1")
      let problem = try await Curl.fetch("http://\(proxy.endpoint())/").problem()
      #expect(problem.status == 503)
      #expect(problem.words.contains("No gateway has dialed unix:\(folder["l"])"), "\(problem.words)")
      await proxy.process.stop()
    }

    @Test("a link address in use ends the proxy at its start") func inUse() async throws {
      let (proxy, link) = try await proxy("tcp://127.0.0.1:0")
      let result = try await BywayProcess.run(
        ["proxy", "--link", "\(link)?open=listen", "--listen", "127.0.0.1:0"])
      EndToEnd.expect(result, code: 69, words: ["in use", link])
      await proxy.process.stop()
    }

    @Test("an invalid open option is a usage error", arguments: ["unix:/x?open=listen&http=1.1", "unix:/x?open=both"])
    func usage(_ link: String) async throws {
      let result = try await BywayProcess.run(["proxy", "--link", link, "--listen", "127.0.0.1:0"])
      EndToEnd.expect(result, code: 64, words: ["open="])
    }
  }
}
