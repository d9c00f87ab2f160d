import Foundation
import TestPeers
import TestTools
import Testing

/// The peers without Byway: a failure here is not Byway's fault.
extension Interop {
  @Suite("Peers used by the tests") struct PeersTests {
    @Test("curl's output is parsed into heads, body and trailers") func curl() async throws {
      let folder = try TemporaryFolder()
      let origin = try await OriginServer(on: .unix(folder["o"]))
      let answer = try await Curl.fetch("--unix-socket", folder["o"], "http://o/early-hints")
      #expect(answer.heads.map(\.status) == [103, 200])
      #expect(answer.text == "hinted\n")
      let trailers = try await Curl.fetch("--unix-socket", folder["o"], "http://o/trailers")
      #expect(trailers.trailers.map(\.name) == ["x-digest", "x-late"])
      await origin.stop()
    }

    @Test("a truncated body is an error of curl", arguments: ["/truncated", "/truncated-chunks"])
    func truncation(_ path: String) async throws {
      let origin = try await OriginServer()
      let answer = try await Curl.fetch(origin.url + path)
      #expect(answer.exitCode == 18)
    }

    @Test("nginx serves files over TLS with HTTP/2, trusted by its authority only")
    func nginx() async throws {
      let folder = try TemporaryFolder()
      let certificates = try await Certificates()
      let file = try MarkedFile(at: folder["f.bin"], size: 1 << 20)
      let server = try await NginxServer(in: folder, http2: true, tls: certificates.server)
      let url = "https://\(server.endpoint)/f.bin"
      let answer = try await Curl.fetch("--cacert", certificates.authority, url)
      #expect(answer.version == "2")
      #expect(answer.body == (try Data(contentsOf: URL(filePath: file.path))))
      #expect(try await Curl.fetch(url).exitCode == 60)
    }

    @Test("origin.py and MarkedFile produce the same bytes", arguments: MarkedFile.Bulk.allCases)
    func bulk(_ bulk: MarkedFile.Bulk) async throws {
      let folder = try TemporaryFolder()
      let file = try MarkedFile(at: folder["g"], bulk)
      let origin = try await OriginServer()
      #expect(try await Curl.digest(origin.url + "/bytes?size=\(bulk.size)") == bulk.digest)
      let upload = try await Curl.fetch("-T", file.path, origin.url + "/digest").json(Upload.self)
      #expect(upload == Upload(length: bulk.size, sha256: bulk.digest))
    }

    @Test("HAProxy, nghttp and the scripts reach an HTTP/2 server") func http2() async throws {
      let folder = try TemporaryFolder()
      let socket = Endpoint.unix(folder["n"])
      let nginx = try await NginxServer(in: folder, on: socket, http2: true)
      let haproxy = try await HaproxyServer(in: folder, upstreams: [nginx.endpoint])
      let through = try await Curl.fetch("http://\(haproxy.endpoint)/hello")
      #expect(through.text == "hello, byway\n")
      let nghttp = try await Program.nghttp.run(["http://\(haproxy.endpoint)/hello"])
      #expect(nghttp.text == "hello, byway\n")
      let responses = try await Script.http2.run("\(socket)", "/hello", "--count", "3", as: H2Answers.self).responses
      #expect(responses.map(\.text) == Array(repeating: "hello, byway\n", count: 3))
      let raw = try await Script.raw.run(
        "\(socket)", "polite", "--target", "/hello", "--deadline", "0.5", as: RawAnswer.self)
      #expect(raw.statuses == [200])
    }

    @Test("a program that exceeds its time limit is killed and reported") func limit() async throws {
      await #expect(throws: PeerFailure.self) {
        try await Program.bash.run(["-c", "sleep 60"], within: .milliseconds(100))
      }
    }

    @Test("a child process is killed with its last reference") func ends() async throws {
      var child: ChildProcess? = try ChildProcess(Program.bash.path(), ["-c", "sleep 60"])
      let id = try #require(child?.id)
      child = nil
      let deadline = ContinuousClock.now + .seconds(5)
      while FileManager.default.fileExists(atPath: "/proc/\(id)"), ContinuousClock.now < deadline { await Task.yield() }
      #expect(!FileManager.default.fileExists(atPath: "/proc/\(id)"))
    }
  }
}
