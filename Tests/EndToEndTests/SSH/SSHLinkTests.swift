import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  @Suite("SSH links") struct SSHLinkTests {
    @Test("a hundred requests to a remote HTTP/1.1 socket take one login") func docker() async throws {
      let folder = try TemporaryFolder()
      let server = try await SSHServer(in: folder)
      let origin = try await OriginServer(on: .unix(folder["docker.sock"]))
      let link = server.address(folder["docker.sock"])
      let proxy = try await BywayProcess.proxy(["--link", "\(link)&http=1.1", "--listen", "127.0.0.1:0"])
      let url = try "http://\(proxy.endpoint())/"
      let urls = Array(repeating: url, count: 100)
      let answer = try await Curl.fetch(urls)
      #expect(answer.text.hasSuffix("hello, byway\n") && answer.exitCode == 0)
      #expect(server.logins == 1)
      await proxy.process.stop()
      await origin.stop()
      await server.stop()
    }

    @Test("requests to a server that closes each connection take one login") func noKeepAlive() async throws {
      let folder = try TemporaryFolder()
      let server = try await SSHServer(in: folder)
      let origin = try await OriginServer(on: .unix(folder["o"]), dropAfter: 1)
      let proxy = try await BywayProcess.proxy(
        ["--link", "\(server.address(folder["o"]))&http=1.1", "--listen", "127.0.0.1:0"])
      let url = try "http://\(proxy.endpoint())/"
      for _ in 0..<20 { #expect(try await Curl.fetch(url).text == "hello, byway\n") }
      #expect(server.logins == 1)
      await proxy.process.stop()
      await origin.stop()
      await server.stop()
    }

    @Test("a device dials out and is served on a hub's port, and the link returns with the hub") func behindNAT()
      async throws
    {
      let folder = try TemporaryFolder()
      let server = try await SSHServer(in: folder)
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let gateway = try await BywayProcess.gateway(
        ["--link", server.address("?listen=0"), "--origin", "\(origin.endpoint)"])
      let number = gateway.ready.components(separatedBy: "listen=").last?.prefix { $0.isNumber } ?? ""
      let proxy = try await BywayProcess.proxy(["--link", "tcp://127.0.0.1:\(number)", "--listen", "127.0.0.1:0"])
      let url = try "http://\(proxy.endpoint())/"
      #expect(try await Curl.fetch(url).text == "hello, byway\n")
      server.killSessions()
      await server.stop()
      let back = try await SSHServer(in: folder, port: server.port)
      try await EndToEnd.waitUntil("the device is served again", within: .seconds(20)) {
        try await Curl.fetch(url).text == "hello, byway\n"
      }
      await gateway.process.stop()
      await proxy.process.stop()
      await origin.stop()
      await back.stop()
    }

    @Test("a restarted SSH server is logged in to again") func restart() async throws {
      let passage = try await Passage(over: .sshSocket)
      #expect(try await Curl.fetch(passage.url).text == "hello, byway\n")
      passage.ssh?.killSessions()
      #expect(try await Curl.fetch(passage.url).text == "hello, byway\n")
      #expect(passage.ssh?.logins == 2)
      await passage.stop()
    }

    @Test("byway request reports SSH errors without secrets") func messages() async throws {
      let folder = try TemporaryFolder()
      let server = try await SSHServer(in: folder)
      let missing = try await BywayProcess.run(["request", "--link", server.address(folder["no"]), "http://device/"])
      EndToEnd.expect(missing, code: 69, words: ["cannot connect to \(folder["no"])"])
      try await SSHServer.makeKey(at: folder["other"])
      let unknownPeer = try await BywayProcess.run(
        [
          "request", "--link",
          "\(server.base)/x?identity=\(folder["other"])&known_hosts=\(folder["known_hosts"])&config=none",
          "http://device/",
        ])
      EndToEnd.expect(unknownPeer, code: 69, words: ["publickey"])
      await server.stop()
    }
  }
}
