import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  /// Gateways that reach their hub through a web server, by WebSocket.
  @Suite("A hub behind nginx") struct WebSocketLinkTests {
    @Test("gateways with the token dial it, 200 requests at once are answered, and a killed one is replaced")
    func hub() async throws {
      let folder = try TemporaryFolder()
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let token = try folder.write("a-token\n", to: "token")
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: token)
      let proxy = try await BywayProcess.proxy(
        ["--link", "ws://127.0.0.1:0/byway?open=listen&token-file=\(token)", "--listen", "127.0.0.1:0"])
      let hub = try #require(proxy.ready.firstMatch(of: /ws:\/\/(127\.0\.0\.1:\d+)\/byway/)?.output.1)
      let nginx = try await NginxServer(
        in: TemporaryFolder(),
        locations: """
          location /byway {
            proxy_pass http://\(hub);
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection "upgrade";
          }
          """)
      let link = "ws://\(nginx.endpoint)/byway?open=dial"
      let options = ["--origin", "\(origin.endpoint)", "--log-level", "debug"]
      let url = try "http://\(proxy.endpoint())/"

      let anonymous = try await BywayProcess.gateway(["--link", link] + options)
      _ = try await anonymous.process.errorLine(containing: "answered 401", within: .seconds(10))
      await anonymous.process.stop()

      let first = try await BywayProcess.gateway(["--link", "\(link)&token-file=\(token)"] + options)
      #expect(try await Curl.fetch(url).text == "hello, byway\n")
      try await withThrowingTaskGroup(of: String.self) { tasks in
        for _ in 0..<200 { tasks.addTask { try await Curl.fetch(url).text } }
        for try await text in tasks { #expect(text == "hello, byway\n") }
      }
      first.process.send(SIGKILL)
      _ = await first.process.waitForExit(within: .seconds(5))
      let second = try await BywayProcess.gateway(["--link", "\(link)&token-file=\(token)"] + options)
      #expect(try await Curl.fetch(url).text == "hello, byway\n")
      #expect(await second.process.stop() == .code(0))
      #expect(await proxy.process.stop() == .code(0))
      await nginx.stop()
      await origin.stop()
    }
  }
}
