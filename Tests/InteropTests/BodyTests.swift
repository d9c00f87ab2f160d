import Foundation
import TestPeers
import TestTools
import Testing

extension Interop {
  /// Large bodies arrive complete and in order, with a few megabytes of memory.
  @Suite("Bodies") struct BodyTests {
    @Test("a large download arrives unchanged over every kind of link", arguments: LinkKind.allCases)
    func down(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let digest = try await Curl.digest(passage.url + "/bytes?size=\(kind.bulk.size)")
      #expect(digest == kind.bulk.digest)
      await passage.stop()
    }

    @Test("a large upload arrives unchanged over every kind of link", arguments: LinkKind.allCases)
    func up(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let file = try MarkedFile(at: passage.folder["f"], kind.bulk)
      let answer = try await Curl.fetch("-T", file.path, passage.url + "/digest", within: .seconds(120))
      #expect(try answer.json() == Upload(length: kind.bulk.size, sha256: kind.bulk.digest))
      await passage.stop()
    }

    @Test("chunked bodies of unknown length pass in both directions") func chunked() async throws {
      let passage = try await Passage(over: .unix)
      let file = try MarkedFile(at: passage.folder["f"], size: 8 << 20)
      let answer = try await Curl.fetch(
        "-H", "Expect:", "-H", "Transfer-Encoding: chunked", "-T", file.path, passage.url + "/duplex",
        within: .seconds(60))
      #expect(answer.body == (try Data(contentsOf: URL(filePath: file.path))))
      await passage.stop()
    }

    @Test("a file of nginx passes with ranges and conditions") func nginx() async throws {
      let folder = try TemporaryFolder()
      let file = try MarkedFile(at: folder["f.bin"], size: 1 << 20)
      let nginx = try await NginxServer(in: folder)
      let passage = try await Passage(over: .unix, to: "http://\(nginx.endpoint)")
      let bytes = try Data(contentsOf: URL(filePath: file.path))
      let whole = try await Curl.fetch(passage.url + "/f.bin")
      #expect(whole.body == bytes)
      let part = try await Curl.fetch("-r", "65530-65545", passage.url + "/f.bin")
      #expect(part.status == 206)
      #expect(part.body == bytes[65530...65545])
      let tag = try #require(whole.values("etag").first)
      #expect(try await Curl.fetch("-H", "If-None-Match: \(tag)", passage.url + "/f.bin").status == 304)
      await passage.stop()
    }
  }
}
