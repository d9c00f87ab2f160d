import TestPeers
import Testing

extension Interop {
  /// Hostile clients. The gateway must keep its memory limited and serve other clients.
  @Suite("Hostile clients of the gateway") struct HostileClientTests {
    /// The required outcome of an attack. Codes are those of RFC 9113 §7.
    struct Case: Sendable, CustomTestStringConvertible {
      let attack: String
      var options: [String] = []
      let ends: @Sendable (RawAnswer) -> Bool
      var testDescription: String { attack }
    }

    static let cutOff: [Case] = [
      Case(attack: "rapid-reset", ends: isCutOff),
      Case(attack: "provoked-reset", ends: isCutOff),
      Case(attack: "settings-flood", options: ["--count", "100000"], ends: isCutOff),
      Case(attack: "ping-flood", options: ["--count", "100000"], ends: isCutOff),
      Case(attack: "empty-data-flood", options: ["--count", "100000"], ends: isCutOff),
      Case(attack: "tiny-data-flood", options: ["--count", "200000"], ends: isCutOff),
      Case(attack: "dribble", options: ["--count", "100000", "--target", "/bytes?size=1000000"], ends: isCutOff),
      Case(attack: "endless-continuation", ends: isCutOff),
      Case(attack: "large-frame", ends: { $0.goaway == 6 }),
      Case(attack: "overflow-window-update", ends: { $0.goaway == 3 }),
      Case(attack: "garbage-preface", ends: { $0.closed && $0.seconds < 5 }),
      Case(attack: "http1-nonsense", ends: { $0.closed && $0.seconds < 5 }),
    ]

    static let refused: [Case] = [
      Case(attack: "huge-field-list", options: ["--size", "200000"], ends: isRefused),
      Case(attack: "hpack-bomb", ends: isRefused),
      Case(attack: "connection-fields", ends: isRefused),
      Case(attack: "line-break-in-value", ends: isRefused),
      Case(attack: "line-break-in-path", ends: isRefused),
      Case(attack: "too-many-streams", options: ["--count", "1500"], ends: { ($0.resets["7"] ?? 0) > 0 || $0.closed }),
      Case(
        attack: "overflow-connection", options: ["--target", "/slow-head?ms=9000"],
        ends: { $0.goaway == 3 || !$0.resets.isEmpty }),
    ]

    @Test(
      "a connection violation or flood ends the connection",
      arguments: cutOff) func cutsOff(_ attack: Case) async throws
    {
      try await withstand(attack)
    }

    @Test("an invalid request is refused, and does not reach the origin", arguments: refused)
    func refuses(_ attack: Case) async throws {
      try await withstand(attack)
    }

    @Test("a client that never opens its window costs no memory") func zeroWindow() async throws {
      let bare = try await BareGateway()
      let before = try bare.gateway.memory().resident
      let answer = try await Script.raw.run(
        "unix:\(bare.socket)", "zero-window", "--streams", "50", "--target", "/bytes?size=100000000", "--deadline", "3",
        as: RawAnswer.self)
      #expect(answer.statuses.count == 50)
      #expect(answer.length == 0)
      #expect(try bare.gateway.memory().peak - before < 32 * ProcessMemory.mebibyte)
      #expect(try await bare.curl("http://device/").status == 200)
      await bare.stop()
    }

    private func withstand(_ attack: Case) async throws {
      let bare = try await BareGateway()
      let answer = try await Script.raw.run(
        ["unix:\(bare.socket)", attack.attack, "--deadline", "5"] + attack.options, as: RawAnswer.self)
      #expect(attack.ends(answer), "\(answer)")
      #expect(try await bare.curl("http://device/").status == 200)
      #expect(try bare.gateway.memory().peak < 64 * ProcessMemory.mebibyte)
      await bare.stop()
    }

    private static let isCutOff: @Sendable (RawAnswer) -> Bool = { $0.closed }

    private static let isRefused: @Sendable (RawAnswer) -> Bool = { answer in
      answer.closed || !answer.resets.isEmpty || answer.statuses.contains { (400..<500).contains($0) }
    }
  }
}

extension Waiting {
  /// Slow clients of the gateway.
  @Suite("Slow clients of the gateway") struct SlowClientTests {
    @Test("clients that stop within a request are disconnected") func stalls() async throws {
      let bare = try await BareGateway()
      let attacks = ["mute", "half-frame", "half-block"]
      try await withThrowingTaskGroup(of: (String, RawAnswer).self) { group in
        for attack in attacks {
          group.addTask {
            let options = ["unix:\(bare.socket)", attack, "--deadline", "45"]
            return (attack, try await Script.raw.run(options, within: .seconds(60)))
          }
        }
        #expect(try await bare.curl("http://device/").status == 200)
        for try await (attack, answer) in group { #expect(answer.closed || !answer.resets.isEmpty, "\(attack)") }
      }
      await bare.stop()
    }

    @Test("a slow client is served") func slowness() async throws {
      let bare = try await BareGateway()
      let answer: RawAnswer = try await Script.raw.run("unix:\(bare.socket)", "slow-preface", "--deadline", "12")
      #expect(answer.statuses == [200])
      await bare.stop()
    }
  }
}
