import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// Gateways whose clients speak HTTP/1.1 on the link.
  @Suite("HTTP/1.1 to a gateway") struct HTTP1GatewayTests {
    @Test("curl uses a gateway's socket with HTTP/1.1 as with HTTP/2, on one connection")
    func plain() async throws {
      let bare = try await BareGateway()
      for version in ["1.1", "2"] {
        let options = ["--unix-socket", bare.socket] + (version == "2" ? ["--http2-prior-knowledge"] : [])
        let page = try await Curl.fetch(options + ["http://device/"])
        #expect(page.text == "hello, byway\n" && page.version == version)
        #expect(page.values("via").count <= 1)
      }
      let file = try MarkedFile(at: bare.folder["f"], .eighth)
      let sent = try await Curl.fetch(
        ["--unix-socket", bare.socket, "-T", file.path, "http://device/digest"], within: .seconds(120))
      #expect(sent.status == 200 && sent.text.contains(MarkedFile.Bulk.eighth.digest), "\(sent.status) \(sent.text)")
      await bare.stop()
    }

    @Test(
      "a gateway refuses other targets over HTTP/1.1, in absolute form and with CONNECT",
      arguments: [
        ["--request-target", "http://127.0.0.1:1/"], ["-X", "CONNECT", "--request-target", "127.0.0.1:1"],
        ["--request-target", "https://127.0.0.1:1/"],
      ])
    func targets(_ options: [String]) async throws {
      let bare = try await BareGateway()
      let foreign = try await Curl.fetch(options + ["--unix-socket", bare.socket, "http://127.0.0.1:1/"])
      #expect(foreign.status == 403, "\(foreign.text)")
      let own = try await Curl.fetch(
        "--request-target", "http://device/", "--unix-socket", bare.socket, "http://device/")
      #expect(own.status == 200 || own.status == 403, "\(own.status)")
      await bare.stop()
    }

    @Test("a proxy with http=1.1 uses a gateway, with several requests at once and an upload")
    func proxied() async throws {
      let bare = try await BareGateway()
      let proxy = try await BywayProcess.proxy([
        "--link", "unix:\(bare.socket)?http=1.1", "--listen", "127.0.0.1:0",
      ])
      let url = "http://\(try proxy.endpoint())"
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<20 { group.addTask { try await Curl.fetch("\(url)/bytes?size=100000").body.count } }
        for try await count in group { #expect(count == 100_000) }
      }
      await proxy.process.stop()
      await bare.stop()
    }
  }
}
