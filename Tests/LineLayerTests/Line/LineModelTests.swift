import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Frame sizer")
struct FrameSizerTests {
  private func trial(_ payload: Int, isLost: Bool) -> FrameSizer.Trials {
    var trials = FrameSizer.Trials()
    if isLost { trials.noteLoss(of: payload) } else { trials.noteArrival(of: payload) }
    return trials
  }

  @Test("the frame size starts at 64 bytes and grows as frames arrive")
  func start() {
    var sizer = FrameSizer()
    #expect(sizer.payload == 64)
    for (bytes, least) in [(1000, 128), (10_000, 400), (100_000, 1200), (200_000, 1800)] {
      var arrived = 0
      var grown = FrameSizer()
      while arrived < bytes {
        arrived += grown.payload
        grown.note(trial(grown.payload, isLost: false))
      }
      #expect(grown.payload >= least, "\(bytes): \(grown.payload)")
    }
    for _ in 0..<3 { sizer.note(trial(64, isLost: true)) }
    #expect(sizer.payload <= 32)
  }

  @Test(
    "the frame size approaches the one with the best throughput for the line's error rate",
    arguments: [(1e-6, 1060), (1e-5, 330), (1e-4, 106), (1e-3, 29), (3e-3, 16)] as [(Double, Int)])
  func converges(_ bitErrorRate: Double, _ best: Int) {
    var random = SplitMix64(seed: 1)
    var sizer = FrameSizer()
    var sum = 0
    for turn in 0..<20_000 {
      let isLost = (0..<(sizer.payload + 10)).contains { _ in
        Double.random(in: 0..<1, using: &random) < bitErrorRate * 8
      }
      sizer.note(trial(sizer.payload, isLost: isLost))
      if turn >= 2000 { sum += sizer.payload }
    }
    let mean = sum / 18_000
    #expect((best * 3 / 5...best * 5 / 3).contains(mean), "\(mean)")
  }

  @Test("if losses begin, the frame size shrinks within a few frames, and grows again when they stop")
  func change() {
    var sizer = FrameSizer()
    for _ in 0..<2000 { sizer.note(trial(sizer.payload, isLost: false)) }
    #expect(sizer.payload > 2000)
    for _ in 0..<4 { sizer.note(trial(1800, isLost: true)) }
    #expect(sizer.payload <= 128)
    for _ in 0..<20 { sizer.note(trial(sizer.payload, isLost: true)) }
    #expect(sizer.payload == FrameSizer.smallest)
    var bytes = 0
    while sizer.payload < 1000 {
      bytes += sizer.payload
      sizer.note(trial(sizer.payload, isLost: false))
    }
    #expect(bytes < 100_000)
  }

  @Test("the frame size never falls below its minimum")
  func smallest() {
    var sizer = FrameSizer()
    for _ in 0..<100_000 { sizer.note(trial(0, isLost: true)) }
    #expect(sizer.payload == FrameSizer.smallest)
  }
}

@Suite("Round-trip time")
struct RoundTripTests {
  @Test("the timeout is the measured round-trip time and a margin that grows with its variation")
  func timeout() {
    var roundTrip = RoundTrip(frame: nil)
    #expect(roundTrip.timeout == 300_000_000)
    for _ in 0..<50 { roundTrip.sample(20_000_000) }
    #expect((30_000_000...31_000_000).contains(roundTrip.timeout))
    for turn in 0..<50 { roundTrip.sample(turn % 2 == 0 ? 10_000_000 : 90_000_000) }
    #expect(roundTrip.timeout > 120_000_000)
  }
}

@Suite("Pacer")
struct PacerTests {
  @Test("the pacer keeps at most 10 ms of bytes ahead of the line", arguments: [1200, 11_520, 92_160, 300_000])
  func ahead(_ rate: Int) {
    var pacer = Pacer(bytesPerSecond: rate)
    var sent = 0
    let frame = max(rate / 1000, 1)
    for now in stride(from: 0 as UInt64, to: 2_000_000_000, by: 1_000_000) {
      while now >= pacer.readyAt {
        pacer.handOver(frame, at: now)
        sent += frame
      }
      let carried = Double(rate) * Double(now) / 1e9
      #expect(Double(sent) - carried <= Double(rate) * 0.0101 + Double(2 * frame))
    }
    #expect(Double(sent) >= Double(rate) * 1.999)
  }

  @Test("if the rate is unknown, the pacer does not limit the sender")
  func unpaced() {
    var pacer = Pacer(bytesPerSecond: nil)
    pacer.handOver(1_000_000, at: 5)
    #expect(pacer.readyAt == 0 && !pacer.isPacing && pacer.rate == nil)
  }

  @Test("the lateness of an ANSWER counts from the latest ANSWER on an idle line, and is never negative")
  func lateness() {
    var pacer = Pacer(bytesPerSecond: 11_520)
    #expect(pacer.lateness(of: 9_000_000) == nil)
    pacer.sample(excess: 2_000_000, wasAtRest: true, at: 1)
    pacer.sample(excess: 12_000_000, wasAtRest: true, at: 2)
    #expect(pacer.lateness(of: 15_000_000) == 3_000_000)
    // The line was measured while the machine was busy.
    #expect(pacer.lateness(of: 1_500_000) == 0)
  }

  @Test(
    "if ANSWERs have absurd delays, the pacer's rate stays near the configured one",
    arguments: [10, 30, 120, 960, 11_520, 300_000_000])
  func nonsense(_ rate: Int) throws {
    for excess in [-1_000_000_000_000_000, -1, 0, 3_000_000_000, 1_000_000_000_000_000] as [Int64] {
      var pacer = Pacer(bytesPerSecond: rate)
      var now: UInt64 = 1
      for turn in 0..<200 {
        now += 150_000_000 + UInt64(turn) * 10_000_000
        pacer.handOver(50, at: now)
        pacer.sample(excess: turn % 7 == 0 ? 0 : excess, wasAtRest: turn % 5 == 0, at: now)
      }
      let believed = try #require(pacer.rate)
      #expect(believed >= rate / 2 - 1 && believed <= rate + rate / 8 + 1)
      // The pacer has the rate as whole nanoseconds for a KiB.
      #expect(try #require(pacer.carriedRate) <= rate + rate / 1000)
    }
  }
}

@Suite("Line configuration")
struct LineLayerConfigurationTests {
  private func refused(_ change: (inout LineLayerConfiguration) -> Void) -> LineLayerConfigurationError? {
    var configuration = LineLayerConfiguration.defaults
    change(&configuration)
    do {
      try configuration.check()
      return nil
    } catch {
      return error
    }
  }

  @Test("the configuration rejects values out of range, and names the field")
  func fields() {
    #expect(refused { _ in } == nil)
    #expect(refused { $0.bytesPerSecond = 9 } == .tooSmall("bytesPerSecond", least: 10))
    #expect(refused { $0.largestPayload = 63 } == .tooSmall("largestPayload", least: 64))
    #expect(refused { $0.largestPayload = 65_536 } == .tooLarge("largestPayload", most: 65_535))
    #expect(refused { $0.window = 4095 } == .tooSmall("window", least: 4096))
    #expect(refused { $0.window = 1 << 20 } == .tooLarge("window", most: 512_000))
    #expect(refused { $0.keepAlive = 0 } == .tooSmall("keepAlive", least: 1))
    #expect(refused { $0.patience = 0 } == .tooSmall("patience", least: 1))
    let day = 86_400_000_000_000
    #expect(refused { $0.keepAlive = .max } == .tooLarge("keepAlive", most: day))
    #expect(refused { $0.patience = .max } == .tooLarge("patience", most: day))
    #expect(refused { $0.grace = 0 } == .tooSmall("grace", least: 1))
    #expect(refused { $0.silence = .max } == .tooLarge("silence", most: day))
    #expect(refused { $0.grace = .max } == .tooLarge("grace", most: day))
    #expect(refused { $0.acknowledgementDelay = .max } == .tooLarge("acknowledgementDelay", most: day))
  }
}

@Suite("Answers on a line that is slower than believed")
struct SlowerLineTests {
  private static let id = SessionID(session: 5, incarnation: 7)
  private static let millisecond: UInt64 = 1_000_000

  @Test("if an ANSWER shows that the line is slower, a POLL right after it is answered without another frame")
  func wakes() throws {
    var configuration = LineLayerConfiguration.defaults
    configuration.bytesPerSecond = 5760
    var layer = LineLayer(.listener(incarnation: 7), configuration: configuration, at: 0)
    layer.receive(.open(version: 1, session: Self.id, largestPayload: 2048, window: 8192), at: 1)
    layer.send([UInt8](repeating: 1, count: 20_000))
    // Answers take 5 ms at first, and later 80 ms.
    var answers: [(at: UInt64, token: UInt8)] = []
    var isSlower = false
    var now = Self.millisecond
    while !isSlower, now < 20_000 * Self.millisecond {
      now += Self.millisecond
      layer.handleTimeout(at: now)
      for case .poll(_, let token) in layer.sentFrames(at: now) {
        answers.append((now + (now < 1000 * Self.millisecond ? 5 : 80) * Self.millisecond, token))
      }
      if let answer = answers.first, answer.at <= now {
        answers.removeFirst()
        let before = layer.pacer.adjusted
        layer.receive(
          .acknowledgement(
            Acknowledgement(
              answer: .init(token: answer.token, delay: 0), arrivals: .init(next: 0, runs: []), window: 8192)), at: now)
        isSlower = layer.pacer.adjusted > before && layer.pacer.readyAt > now
      }
    }
    #expect(isSlower)
    // The timer for the frame before has fired.
    layer.wakesWhenReady = false
    layer.receive(.poll(session: 5, token: 99), at: now)
    #expect(layer.sentFrames(at: now).isEmpty)
    let deadline = try #require(layer.nextDeadline)
    #expect(deadline == layer.pacer.readyAt)
    layer.handleTimeout(at: deadline)
    let isAnswered = layer.sentFrames(at: deadline).contains { frame in
      if case .acknowledgement(let report) = frame { report.answer?.token == 99 } else { false }
    }
    #expect(isAnswered)
  }
}
