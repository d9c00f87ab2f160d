import TestPeers
import Testing

extension EndToEnd {
  /// Resident memory, which is scarce on small devices.
  @Suite("Memory") struct MemoryTests {
    /// The kernel maps more pages of a program than it touches, and how many depends on its version and on the place of each function.
    @Test("an idle gateway uses at most 4 MiB of its own, and 18 MiB with the pages of its program")
    func idle() async throws {
      let bare = try await BareGateway()
      #expect(try await bare.curl("http://device/").status == 200)
      let memory = try bare.gateway.memory()
      #expect(memory.anonymous <= 4 * ProcessMemory.mebibyte, "\(memory.anonymous / 1024) KiB")
      #expect(memory.resident <= 18 * ProcessMemory.mebibyte, "\(memory.resident / 1024) KiB")
      await bare.stop()
    }

    @Test("a download of 1 GiB by a slow reader uses at most 48 MiB in each process", arguments: [LinkKind.unix, .tcp])
    func slowReader(_ kind: LinkKind) async throws {
      let passage = try await Passage(over: kind)
      let answer = try await Script.http1.run(
        "crawl", passage.host, "/bytes?size=\(MarkedFile.Bulk.gibibyte.size)", "--host", passage.host, "--ms", "5000",
        as: CrawlAnswer.self, within: .seconds(180))
      #expect(answer.sha256 == MarkedFile.Bulk.gibibyte.digest)
      try expectSmall(passage)
      await passage.stop()
    }

    @Test("an upload of 1 GiB uses at most 48 MiB in each process") func upload() async throws {
      let passage = try await Passage(over: .unix)
      let file = try MarkedFile(at: passage.folder["f"], .gibibyte)
      let answer = try await Curl.fetch("-T", file.path, passage.url + "/digest", within: .seconds(180))
      #expect(try answer.json(Upload.self).sha256 == MarkedFile.Bulk.gibibyte.digest)
      try expectSmall(passage)
      await passage.stop()
    }

    @Test(
      "an HTTP/2 client that reads none of 256 bodies costs at most 8 MiB in each process, and 1 MiB of the allocator",
      arguments: ["zero-window", "deaf"])
    func unreadStreams(_ attack: String) async throws {
      let passage = try await Passage(over: .unix)
      #expect(try await Curl.fetch(passage.url + "/bytes?size=1000").status == 200)
      let processes = [passage.gateway, passage.proxy].compactMap(\.self)
      for process in processes { try process.resetPeakMemory() }
      let before = try processes.map { try $0.memory().resident }
      let answer = try await Script.raw.run(
        "\(passage.endpoint)", attack, "--streams", "256", "--target", "/bytes?size=4194304", "--deadline", "8",
        as: RawAnswer.self)
      #expect(!answer.closed)
      for (process, before) in zip(processes, before) {
        let cost = try process.memory().peak - before
        // On a busy machine the peak has pages that the allocator has not used again yet, and new pages of the program.
        #expect(cost <= 9 * ProcessMemory.mebibyte, "\(process.ready): \(cost / 1024) KiB")
      }
      #expect(try await Curl.fetch(passage.url + "/bytes?size=1000").status == 200)
      await passage.stop()
    }

    private func expectSmall(_ passage: Passage) throws {
      for process in [passage.gateway, passage.proxy].compactMap(\.self) {
        let peak = try process.memory().peak
        #expect(peak <= 48 * ProcessMemory.mebibyte, "\(process.process.name) \(process.ready): \(peak / 1024) KiB")
      }
    }
  }
}
