import Foundation
import TestPeers
import Testing

extension EndToEnd {
  /// Links that break, have no peer or carry another protocol, and clients that disconnect.
  @Suite("Failures of the link") struct LinkFailureTests {
    @Test(
      "a gateway killed within a download is an error, and its successor is used",
      arguments: [LinkKind.unix, .tcp, .sshSocket])
    func killedGateway(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let body = passage.folder["body"]
      let download = try ChildProcess(
        Program.curl.path(), ["-q", "-sS", "--limit-rate", "20M", "-o", body, passage.url + "/bytes?size=1000000000"])
      try await EndToEnd.waitUntil("the download has begun") { size(of: body) > 0 }
      passage.gateway?.process.send(SIGKILL)
      let exit = await download.waitForExit(within: .seconds(10))
      #expect(exit == .code(18) || exit == .code(56))

      let address = kind == .sshSocket ? "unix:\(passage.folder["l"])" : passage.link
      let next = try await BywayProcess.gateway(["--link", address, "--origin", "\(passage.origin.endpoint)"])
      #expect(try await Curl.fetch(passage.url + "/").text == "hello, byway\n")
      await next.process.stop()
      await passage.stop()
    }

    @Test("a client that disconnects within its upload ends the upload at the origin", arguments: LinkKind.allCases)
    func vanishedClient(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let file = try MarkedFile(at: passage.folder["f"], size: 64 << 20)
      let client = try ChildProcess(
        Program.curl.path(), ["-q", "-sS", "--limit-rate", "1M", "-T", file.path, passage.url + "/digest"])
      let begun = try await Curl.fetch(passage.url + "/uploads?count=1").json([UploadRecord].self)
      #expect(begun.map(\.complete) == [false])
      client.send(SIGKILL)
      _ = await client.waitForExit(within: .seconds(10))
      let uploads = try await Curl.fetch(passage.url + "/uploads").json([UploadRecord].self)
      #expect(uploads.map(\.complete) == [false])
      #expect(try await Curl.fetch(passage.url + "/").status == 200)
      await passage.stop()
    }

    @Test(
      "the error quotes a peer that does not speak HTTP/2, and says what it may be",
      arguments: [
        ("/bin/echo SSH-2.0-OpenSSH_9.2", "SSH-2.0", "ssh://"),
        ("/bin/echo HTTP/1.1 400 Bad Request", "HTTP/1.1", "add ?http=1.1"),
        ("/bin/echo '<!DOCTYPE html>'", "DOCTYPE", "add ?http=1.1"), ("/bin/cat", "PRI *", "echoes"),
        ("/bin/echo 'device login:'", "device login:", "A login prompt"),
      ])
    func notHTTP2(_ command: String, _ quote: String, _ advice: String) async throws {
      let proxy = try await BywayProcess.proxy(["--link", "exec:\(command)", "--listen", "127.0.0.1:0"])
      let problem = try await Curl.fetch("http://\(proxy.endpoint())/").problem()
      #expect([502, 503].contains(problem.status))
      #expect(problem.words.contains(quote) && problem.words.contains(advice), "\(problem.words)")
      await proxy.process.stop()
    }

    @Test("a silent peer is abandoned") func mute() async throws {
      let result = try await BywayProcess.run(
        ["request", "--link", "exec:/bin/sleep 600", "--max-time", "2", "http://device/"], within: .seconds(20))
      #expect(result.exitCode != 0)
      #expect(result.duration < .seconds(10))
      #expect(result.errorText.hasPrefix("byway: "))
    }

    private func size(of path: String) -> Int {
      (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    }
  }
}
