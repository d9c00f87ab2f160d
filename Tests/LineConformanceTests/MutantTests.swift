import BywayLineConformance
import Testing

@testable import BywayLineLayer

/// Ends with one bug each. The tester must find it, and name the right section.
@Suite("Faulty line layers")
struct MutantTests {
  struct Mutant: Sendable, CustomTestStringConvertible {
    let role: Role
    let mutation: Performance.Mutation
    /// Parts of titles, each of which must be in the title of a check that fails.
    let failing: [String]

    var testDescription: String { "\(role): \(mutation.name)" }

    init(
      _ role: Role, _ name: String, fails failing: String..., change: (inout Performance.Mutation) -> Void
    ) {
      self.role = role
      self.failing = failing
      var mutation = Performance.Mutation(name: name)
      change(&mutation)
      self.mutation = mutation
    }
  }

  static let mutants: [Mutant] = [
    Mutant(.listen, "sends HELLO with incarnation 0", fails: "rule 2, incarnation 0: HELLO") {
      $0.sent = { if case .hello = $0 { [.hello(version: 1, incarnation: 0, largestPayload: 64)] } else { [$0] } }
    },
    Mutant(.listen, "accepts an OPEN of any version", fails: "waiting × OPEN, rule 1", "open × OPEN, rule 1") {
      $0.received = {
        if case .open(_, let id, let largest, let window, _, _) = $0 {
          [.open(version: 1, session: id, largestPayload: largest, window: window)]
        } else {
          [$0]
        }
      }
    },
    Mutant(.listen, "forgets why a session ended", fails: "waiting × POLL of a session that is over") {
      $0.sent = { if case .reset(let id, .aborted) = $0 { [.reset(session: id, reason: .unknown)] } else { [$0] } }
    },
    Mutant(.listen, "does not acknowledge a repeated OPEN", fails: "§8 open × OPEN, rule 3") {
      $0.dropsRepeatedOpen = true
    },
    Mutant(.listen, "answers with another token", fails: "§8 open × POLL, own: ANSWER with its token") {
      $0.sent = {
        guard case .acknowledgement(var report) = $0, let answer = report.answer else { return [$0] }
        report.answer = .init(token: answer.token &+ 1, delay: answer.delay)
        return [.acknowledgement(report)]
      }
    },
    Mutant(.listen, "opens sessions itself", fails: "waiting × POLL, other: RESET(unknown)") {
      $0.sent = {
        let open = Frame.open(
          version: 1, session: SessionID(session: 9, incarnation: 0), largestPayload: 64, window: 64)
        return if case .reset(_, .unknown) = $0 { [open, $0] } else { [$0] }
      }
    },
    Mutant(.listen, "does not answer a POLL of another session", fails: "× POLL, other: RESET(unknown)") {
      $0.sent = { if case .reset(_, .unknown) = $0 { [] } else { [$0] } }
    },
    Mutant(.listen, "is late with acknowledgements", fails: "§6 acknowledgement delay") {
      $0.delay = 60_000_000
    },
    Mutant(.listen, "sends no POLL", fails: "§6 question: POLL", "§6 keep-alive of a listener") {
      $0.sent = { if case .poll = $0 { [] } else { [$0] } }
    },
    Mutant(
      .listen, "gives up a line that is gone or silent for ten seconds",
      fails: "§6 grace: a session outlives its line", "§6 patience: 30 s", "§6 patience: whatever is heard restarts it"
    ) {
      $0.configuration.grace = 10_000_000_000
    },
    Mutant(.listen, "never gives up a line", fails: "§6 grace: after 30 s", "§6 patience: 30 s") {
      $0.configuration.grace = 600_000_000_000
    },
    Mutant(.listen, "sends no zero before a frame", fails: "§6 quiet line") { $0.forgetsZeros = true },
    Mutant(.listen, "accepts frames whose check fails", fails: "§10 a check that fails: dropped") {
      $0.forgivesChecks = true
    },
    Mutant(.listen, "acknowledges missing units", fails: "§4 what is missing") {
      $0.sent = {
        guard case .acknowledgement(var report) = $0, !report.arrivals.runs.isEmpty else { return [$0] }
        report.arrivals.next &+= 2
        return [.acknowledgement(report)]
      }
    },
    Mutant(.listen, "accepts every acknowledgement", fails: "§10 an ACK of a unit that was never sent") {
      $0.received = {
        if case .acknowledgement(let report) = $0, report.arrivals.next > 100 { [] } else { [$0] }
      }
    },
    Mutant(.listen, "answers the first of many POLLs", fails: "§10 more POLLs than can be answered") {
      $0.received = { if case .poll(_, let token) = $0, token > 11, token < 31 { [] } else { [$0] } }
    },
    Mutant(.listen, "announces correction, and has none", fails: "§7 as many wrong bytes as it bears") {
      $0.configuration.correction = 0
      $0.sent = {
        if case .hello(let version, let incarnation, let largest, _, _) = $0 {
          [.hello(version: version, incarnation: incarnation, largestPayload: largest, correction: 12)]
        } else {
          [$0]
        }
      }
    },
    Mutant(
      .listen, "corrects for each end that reports noise", fails: "§7 noise is not told to an end that said of no"
    ) {
      $0.received = {
        if case .open(let version, let id, let largest, let window, _, _) = $0 {
          [.open(version: version, session: id, largestPayload: largest, window: window, correction: 12)]
        } else {
          [$0]
        }
      }
    },
    Mutant(.listen, "is two programs that have the same device", fails: "Bail out! two programs use this device") {
      $0.sent = { if case .acknowledgement(let report) = $0, report.answer != nil { [$0, $0] } else { [$0] } }
    },
    Mutant(.listen, "accepts no more than 150 units", fails: "§4 a hundred DATA frames in one piece") {
      $0.received = { if case .data(let header, _) = $0, header.number > 150 { [] } else { [$0] } }
    },
    Mutant(.listen, "counts units with 15 bits", fails: "§2 more than 65,536 units") {
      $0.received = {
        guard case .data(var header, let payload) = $0 else { return [$0] }
        header.number &= 0x7FFF
        return [.data(header, payload: payload)]
      }
    },
    Mutant(.dial, "does not answer the OPEN of another dialer", fails: "opening × OPEN: RESET(both dial)") {
      $0.sent = { if case .reset(_, .bothDial) = $0 { [] } else { [$0] } }
    },
    Mutant(
      .dial, "does not repeat OPEN after RESET(unknown)", fails: "asking × RESET(unknown)", "opening × RESET(unknown)"
    ) {
      $0.received = { if case .reset(let id, .unknown) = $0 { [.reset(session: id, reason: .aborted)] } else { [$0] } }
    },
    Mutant(.dial, "goes on after another listener's HELLO", fails: "open × HELLO, another incarnation: session over") {
      $0.ignoresLaterHello = true
    },
    Mutant(.dial, "sends OPEN only once", fails: "asking × an unanswered OPEN", "§6 question: OPEN") {
      $0.saysOpenOnce = true
    },
    Mutant(.dial, "is silent for a minute", fails: "§6 keep-alive of a dialer") {
      $0.configuration.keepAlive = 60_000_000_000
    },
    Mutant(.dial, "waits a minute for a listener", fails: "§6 patience of a dialer") {
      $0.configuration.patience = 180_000_000_000
    },
  ]

  @Test("the tester finds each faulty end, and names the check that fails", arguments: mutants)
  func seen(_ mutant: Mutant) throws {
    var options = ConformanceTests.options(mutant.role)
    options.means = [.cut]
    let performance = Performance(
      try ConformanceTests.all.get(), options, owner: .echo, mutation: mutant.mutation)
    #expect(!performance.hasPassed)
    for title in mutant.failing {
      #expect(
        performance.failures.contains { $0.contains(title) }, "\(performance.failures.joined(separator: "\n"))")
    }
  }

  @Test("if nothing is heard from the end under test, the tester says so within a minute")
  func absent() throws {
    var mutation = Performance.Mutation(name: "silent")
    mutation.sent = { _ in [] }
    let performance = Performance(
      try ConformanceTests.all.get(), ConformanceTests.options(.listen), owner: .echo, mutation: mutation)
    #expect(performance.lines.last?.hasPrefix("Bail out! nothing was heard") == true)
    #expect(!performance.hasPassed && performance.time < 60_000_000_000)
  }

  /// Returns whether a script passes for a listener that sends these frames, each at its time after the script began.
  private func passes(_ steps: String, _ frames: [(milliseconds: UInt64, Frame)]) throws -> Bool {
    let script = "name: one\nsection: 8\nend: listen\nbegin: fresh\n\(steps)"
    var tester = Conformance(
      try Catalogue(["state: fresh\nend: both", script]), ConformanceTests.options(.listen), at: 0)
    tester.receive([0] + Performance.bytes(.hello(version: 1, incarnation: 7, largestPayload: 64), nil), at: 1)
    let start: UInt64 = 1_000_000_000
    tester.handleTimeout(at: start)
    var session: UInt32 = 0
    while let order = tester.nextOrder() {
      guard case .send(let bytes) = order else { continue }
      for run in bytes.split(separator: 0) {
        var run = Array(run)
        switch FrameCodec.decode(&run, seal: nil) {
        case .poll(let id, _): session = id
        case .open(_, let id, _, _, _, _): session = id.session
        default: break
        }
      }
    }
    let seal = SessionID(session: session, incarnation: 7)
    for (milliseconds, frame) in frames {
      var frame = frame
      if case .reset(_, let reason) = frame { frame = .reset(session: session, reason: reason) }
      tester.receive([0] + Performance.bytes(frame, seal), at: start + milliseconds * 1_000_000)
    }
    for seconds in [5, 6] as [UInt64] { tester.handleTimeout(at: start + seconds * 1_000_000_000) }
    #expect(tester.isOver)
    return tester.hasPassed
  }

  private static let reset = Frame.reset(session: 0, reason: .unknown)

  @Test("a frame that is late fails its check, even if the tester was not called in between")
  func late() throws {
    let steps = "in poll session=other\nout reset session=other within 100"
    #expect(try passes(steps, [(90, Self.reset)]))
    #expect(try !passes(steps, [(150, Self.reset)]))
  }

  @Test("a repeated question fails its check if it comes as soon as the one before")
  func doubled() throws {
    let steps =
      "in poll session=other\nout reset session=other within 200\nout reset session=other doubled within 500"
    #expect(try passes(steps, [(100, Self.reset), (260, Self.reset)]))
    #expect(try !passes(steps, [(100, Self.reset), (200, Self.reset)]))
  }

  @Test("an acknowledgement of more than has arrived fails its check")
  func more() throws {
    let steps = "in open session=new\nin data piece=0\nin data piece=2\nout ack arrived=2 within 100"
    func report(_ runs: [UInt16]) -> Frame {
      .acknowledgement(Acknowledgement(answer: nil, arrivals: Arrivals(next: 3, runs: runs), window: 64))
    }
    #expect(try passes(steps, [(1, report([2, 2]))]))
    #expect(try !passes(steps, [(1, report([1, 3]))]))
  }

  @Test("the tester hears an end that sends only the corrected copy of its HELLO")
  func copy() throws {
    var tester = Conformance(try ConformanceTests.all.get(), ConformanceTests.options(.listen), at: 0)
    let hello = Frame.hello(version: 1, incarnation: 7, largestPayload: 64, correction: 12)
    tester.receive(
      [0] + CorrectableFrame.wire(of: hello, strength: 3, seal: SessionID(session: 0, incarnation: 0)), at: 1)
    tester.handleTimeout(at: 31_000_000_000)
    var told: [String] = []
    while let order = tester.nextOrder() { if case .print(let line) = order { told.append(line) } }
    #expect(!told.contains { $0.contains("nothing was heard") }, "\(told)")
  }

  @Test("random bytes do not make the tester trap or run for ever", arguments: 0..<20)
  func noise(_ seed: Int) throws {
    var tester = Conformance(
      try ConformanceTests.all.get(), ConformanceTests.options(seed % 2 == 0 ? .dial : .listen), at: 0)
    var state = UInt64(seed) &* 0x9E37_79B9 | 1
    var now: UInt64 = 0
    for _ in 0..<20_000 where !tester.isOver {
      while tester.nextOrder() != nil {}
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      now = max(now + state >> 44, 0)
      tester.receive([UInt8(truncatingIfNeeded: state >> 33) & (state >> 60 == 0 ? 0 : 0xFF)], at: now)
      tester.handleTimeout(at: now)
    }
  }
}
