import BywayLineEmulation

@testable import BywayLineLayer

/// A fault that stops at a given time.
struct Temporary<Fault: LineFault>: LineFault {
  static var name: String { Fault.name }
  var fault: Fault
  let end: UInt64

  mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    if let first = bytes.times.first, first < end { fault.carry(&bytes, using: &random) }
  }

  var nextForeignBytes: UInt64? { fault.nextForeignBytes.flatMap { $0 < end ? $0 : nil } }

  mutating func foreignBytes(at time: UInt64, using random: inout SplitMix64) -> [UInt8] {
    fault.foreignBytes(at: time, using: &random)
  }
}

/// Two ends whose owners act at random, and a line with random faults, all from one seed.
struct RandomRun {
  let seed: UInt64
  private var random: SplitMix64

  init(seed: UInt64) {
    self.seed = seed
    random = SplitMix64(seed: seed).stream(named: "run")
  }

  /// The time at which the faults stop, in seconds.
  private static let trouble = 6.0
  /// The time that sessions then have to finish, in seconds. An end may notice a restart only after keep-alive and patience.
  private static let recovery = 120.0

  /// Runs, and returns the error if there is one.
  mutating func failure() -> String? {
    let simulation = Simulation(line(), back: line(), configuration: configuration(), seed: seed)
    simulation.opensAgain = true
    while Double(simulation.now) < Self.trouble * 1e9 {
      act(on: simulation)
      let pause = chance(15) ? Double.random(in: 0...6, using: &random) : Double.random(in: 0...0.3, using: &random)
      simulation.run(atMost: pause)
      if let failure = simulation.failure { return failure }
    }
    return recovery(of: simulation)
  }

  /// Checks that on a good line every session ends, and that a new session finishes at both ends.
  private func recovery(of simulation: Simulation) -> String? {
    simulation.link.restore()
    let goodEnds = simulation.ledger.goodEnds
    for end in simulation.ends { end.reads = true }
    var told: [UInt32?] = [nil, nil]
    let isComplete = simulation.run(atMost: Self.recovery) {
      for (index, end) in simulation.ends.enumerated() where end.session != nil && end.session != told[index] {
        told[index] = end.session
        end.toSend += 500
        simulation.finish(end)
      }
      return simulation.ledger.goodEnds >= goodEnds + 2
    }
    if let failure = simulation.failure { return failure }
    guard isComplete else {
      return "stuck: "
        + simulation.ends.map {
          "\($0.name) \($0.layer.session.map { "\($0.id) confirmed \($0.isConfirmed), unanswered \($0.questions.unanswered), sent \($0.sender.frames.count) frames, lost \($0.sender.frames.hasLost)" } ?? "no session"), received \($0.received) of \($0.events.count) \($0.events.suffix(4)), \($0.layer.statistics)"
        }.joined(separator: "; ")
    }
    return nil
  }

  // MARK: Random choices

  private mutating func act(on simulation: Simulation) {
    let end = Bool.random(using: &random) ? simulation.dialer : simulation.listener
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<50: if end.session != nil { end.toSend += amount() }
    case 50..<58: end.reads.toggle()
    case 58..<62: simulation.finish(end)
    case 62..<65: simulation.abort(end)
    case 65..<69: simulation.restart(end)
    case 69..<80:
      let kind = Cut.Kind.allCases[Int.random(in: 0..<Cut.Kind.allCases.count, using: &random)]
      simulation.link.cut(kind, at: [nil, .a, .b][Int.random(in: 0..<3, using: &random)])
    default: simulation.link.restore()
    }
  }

  private mutating func amount() -> Int {
    chance(10) ? Int.random(in: 1...12_000, using: &random) : Int.random(in: 1...600, using: &random)
  }

  private mutating func configuration() -> LineLayerConfiguration {
    var configuration = LineLayerConfiguration.defaults
    configuration.bytesPerSecond = [nil, 960, 11_520, 92_160, 92_160, 300_000][Int.random(in: 0..<6, using: &random)]
    if chance(30) { configuration.largestPayload = Int.random(in: 64...2048, using: &random) }
    if chance(40) { configuration.window = Int.random(in: 4096...16_384, using: &random) }
    return configuration
  }

  private mutating func line() -> LineConfiguration {
    let bauds = [9600, 115_200, 921_600, 3_000_000]
    var line = LineConfiguration(
      baud: bauds[Int.random(in: 0..<bauds.count, using: &random)],
      clockError: chance(50) ? Double.random(in: -0.02...0.02, using: &random) : 0,
      transmitQueue: chance(50) ? 4096 : 20_480,
      batch: .milliseconds([2, 4, 16][Int.random(in: 0..<3, using: &random)]))
    if chance(60) { line.faults.append(temporary(BitFlips(rate: rate(1e-6...5e-4)))) }
    if chance(20) { line.faults.append(temporary(DroppedBytes(rate: rate(1e-5...1e-2)))) }
    if chance(20) { line.faults.append(temporary(DuplicatedBytes(rate: rate(1e-5...1e-2)))) }
    if chance(20) { line.faults.append(temporary(InsertedBytes(rate: rate(1e-5...1e-2)))) }
    if chance(20) { line.faults.append(temporary(ForeignLogLine(every: .milliseconds(400)))) }
    if chance(20) {
      line.faults.append(
        temporary(
          GilbertElliott(
            good: .init(bitErrorRate: 0, meanLength: 2000), bad: .init(bitErrorRate: 0.05, meanLength: 50))))
    }
    if chance(10) { line.faults.append(Latency(.milliseconds(Int64.random(in: 1...100, using: &random)))) }
    if chance(10) { line.faults.append(temporary(SlowReader(bytesPerSecond: 5000))) }
    return line
  }

  private func temporary(_ fault: some LineFault) -> any LineFault {
    Temporary(fault: fault, end: UInt64(Self.trouble * 1e9))
  }

  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  /// Each order of magnitude as likely as the next.
  private mutating func rate(_ range: ClosedRange<Double>) -> Double {
    var rate = range.upperBound
    while rate > range.lowerBound, chance(60) { rate /= 2 }
    return rate
  }
}
