import Foundation
import TestPeers
import TestTools
import Testing

extension EndToEnd {
  @Suite("byway request") struct RequestCommandTests {
    @Test("byway request prints the body, and the head with -i", arguments: LinkKind.allCases)
    func get(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let plain = try await BywayProcess.run(["request", "--link", passage.link, "http://device/"])
      #expect(plain.text == "hello, byway\n")
      #expect(plain.errorText.isEmpty)
      let full = try await BywayProcess.run(["request", "--link", passage.link, "-i", "http://device/cookies"])
      #expect(full.text.contains("200"))
      #expect(full.text.components(separatedBy: "set-cookie: ").count == 3)
      await passage.stop()
    }

    @Test("byway request sends method, fields and data") func post() async throws {
      let bare = try await BareGateway()
      let result = try await BywayProcess.run([
        "request", "--link", "unix:\(bare.socket)", "-X", "PATCH", "-H", "X-A: 1", "-d", "x=1",
        "http://device/echo?a=%20b",
      ])
      let echo = try JSONDecoder().decode(Echo.self, from: result.output)
      #expect(echo.method == "PATCH")
      #expect(echo.target == "/echo?a=%20b")
      #expect(echo.values("x-a") == ["1"])
      #expect(echo.body == "x=1")
      await bare.stop()
    }

    @Test(
      "byway request uploads and downloads a large file over every kind of link",
      arguments: LinkKind.allCases)
    func gibibyte(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let file = try MarkedFile(at: passage.folder["f"], kind.bulk)
      let up = try await BywayProcess.run(
        ["request", "--link", passage.link, "-T", file.path, "http://device/digest"], within: .seconds(180))
      #expect(try JSONDecoder().decode(Upload.self, from: up.output).sha256 == kind.bulk.digest)
      let out = passage.folder["out"]
      let down = try await BywayProcess.run(
        ["request", "--link", passage.link, "-o", out, "http://device/bytes?size=\(kind.bulk.size)"],
        within: .seconds(180))
      #expect(down.exitCode == 0)
      let digest = try await Program.openssl.run(["dgst", "-sha256", "-r", out])
      #expect(digest.text.hasPrefix(kind.bulk.digest))
      await passage.stop()
    }

    @Test("--fail turns a 404 into an error, without its body") func fail() async throws {
      let bare = try await BareGateway()
      let arguments = ["request", "--link", "unix:\(bare.socket)", "--fail", "http://device/none"]
      let result = try await BywayProcess.run(arguments)
      #expect(result.exitCode == 22)
      #expect(result.output.isEmpty)
      let tolerant = try await BywayProcess.run(arguments.filter { $0 != "--fail" })
      #expect(tolerant.exitCode == 0)
      #expect(tolerant.text == "nothing here\n")
      await bare.stop()
    }

    @Test("byway request reaches an ordinary HTTP/1.1 server with http=1.1") func http1() async throws {
      let folder = try TemporaryFolder()
      let nginx = try await NginxServer(in: folder, on: .unix(folder["n"]))
      let result = try await BywayProcess.run(["request", "--link", "unix:\(folder["n"])?http=1.1", "http://any/hello"])
      #expect(result.text == "hello, byway\n")
      await nginx.stop()
    }

    @Test("byway request reaches a third-party HTTP/2 server") func foreignServer() async throws {
      let folder = try TemporaryFolder()
      let nginx = try await NginxServer(in: folder, on: .unix(folder["n"]), http2: true)
      let result = try await BywayProcess.run(["request", "--link", "unix:\(folder["n"])", "http://any/hello"])
      #expect(result.text == "hello, byway\n")
      await nginx.stop()
    }
  }
}
