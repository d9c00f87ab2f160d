import Byway
import BywayDevices
import NIOCore
import Testing

@Suite("Refusals of a hub") struct HubRefusalsTests {
  private func refusal(_ reason: String, from host: Int = 1, names: [String] = []) throws -> ClientRefusal {
    ClientRefusal(of: try SocketAddress(ipAddress: "192.0.2.\(host)", port: 7), names: names, reason: reason)
  }

  private func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(1_000) + .seconds(seconds) }

  @Test("repetitions are counted, with the latest first, and each gateway has lines of its own in the log")
  func counted() throws {
    var refusals = HubRefusals()
    #expect(refusals.note(try refusal("a"), at: at(0)) == .line(repeated: 0))
    #expect(refusals.note(try refusal("a", from: 2), at: at(1)) == .line(repeated: 0))
    #expect(refusals.note(try refusal("a", names: ["n"]), at: at(1)) == .line(repeated: 0))
    #expect(refusals.note(try refusal("a"), at: at(2)) == .repetition)
    #expect(refusals.note(try refusal("a"), at: at(62)) == .line(repeated: 1))
    #expect(refusals.reports.map(\.count) == [3, 1, 1])
    #expect(refusals.reports.map(\.refusal.address) == ["192.0.2.1", "192.0.2.1", "192.0.2.2"])
    let times = refusals.reports.map(\.at)
    #expect(times[0] - times[2] == 61 && times[1] == times[2], "\(times)")
  }

  @Test("eight different refusals are kept, and a flood of new ones has eight lines in ten seconds")
  func bounded() throws {
    var refusals = HubRefusals()
    var lines = 0
    for number in 0..<200 {
      if try refusals.note(refusal("\(number)"), at: at(Int64(number) / 10)) != .repetition { lines += 1 }
    }
    #expect(lines == 16)
    #expect(refusals.reports.map(\.refusal.reason) == (192..<200).reversed().map(String.init))
  }

  @Test("at most five names of a certificate are kept")
  func names() throws {
    #expect(try refusal("a", names: (0..<100).map(String.init)).names == ["0", "1", "2", "3", "4"])
    #expect(ClientRefusal(of: nil, reason: "a").address == nil)
  }

  @Test("each refusal has its own text")
  func texts() throws {
    let name = try #require(DeviceName("printer"))
    let texts = [
      HubRefusal.noName, .unusableName("xn--a", .encoded), .uncertified(name, certified: []),
      .uncertified(name, certified: ["a", "b\n"]), .configured(name), .certifiedElsewhere(name), .full(name, limit: 7),
      .tooManyNames(name, "no"), .silent, .closing,
    ].map { "\($0)" }
    #expect(Set(texts).count == texts.count)
    #expect(texts[2].hasSuffix("its certificate is for no name") && !texts[3].contains("\n"), "\(texts[3])")
    #expect(texts[4] == "claims 'printer', but the hub's configuration already has a device printer")
    // A GOAWAY carries 256 characters of ASCII.
    #expect(texts.allSatisfy { $0.utf8.count <= 256 && $0.utf8.allSatisfy { $0 < 0x7F } })
  }
}
