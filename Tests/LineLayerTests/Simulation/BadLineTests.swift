import BywayLineEmulation
import Testing

@testable import BywayLineLayer

/// A fault that begins at a given time.
private struct Late<Fault: LineFault>: LineFault {
  static var name: String { Fault.name }
  var fault: Fault
  let begin: UInt64

  mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    if let first = bytes.times.first, first >= begin { fault.carry(&bytes, using: &random) }
  }
}

/// Lines on which hardly a frame of a usual size arrives, at 921,600 baud. Frames of the best size carry 0.52 of a line that drops 1 % of
/// its bytes, and 0.56 of one with a bit in 1000 wrong.
@Suite("Transfers on very bad lines")
struct BadLineTests {
  struct Noise: CustomTestStringConvertible {
    var testDescription: String
    let faults: @Sendable (_ begin: UInt64) -> [any LineFault]
  }

  static let noises = [
    Noise(testDescription: "1 % of bytes dropped") { [Late(fault: DroppedBytes(rate: 0.01), begin: $0)] },
    Noise(testDescription: "one bit in 1000 wrong") { [Late(fault: BitFlips(rate: 1e-3), begin: $0)] },
  ]

  private func simulation(_ noise: Noise, from begin: UInt64, seed: UInt64) -> Simulation {
    let line = LineConfiguration(baud: 921_600, batch: .milliseconds(1), faults: noise.faults(begin))
    return Simulation(line, seed: seed)
  }

  /// Returns the seconds from the first byte of the session until all of a response has arrived.
  private func cold(_ noise: Noise, size: Int, seed: UInt64) -> Double {
    let simulation = simulation(noise, from: 0, seed: seed)
    simulation.open()
    simulation.run(atMost: 10) { simulation.dialer.events.contains(.ready) }
    simulation.dialer.toSend = 150
    simulation.run(atMost: 10) { simulation.listener.received == 150 }
    simulation.listener.toSend = size
    simulation.run(atMost: 60) { simulation.dialer.received == size }
    #expect(simulation.failure == nil)
    return simulation.dialer.received == size ? Double(simulation.now) / 1e9 : .infinity
  }

  private func median(_ value: (UInt64) -> Double) -> Double { (1...5).map(value).sorted()[2] }

  @Test("on a very bad line, a transfer of 64 KiB takes less than two seconds, opening included", arguments: noises)
  func start(_ noise: Noise) {
    let seconds = median { cold(noise, size: 65_536, seed: $0) }
    #expect(seconds < 2, "\(seconds)")
  }

  @Test("on a very bad line, a transfer of 384 KiB takes less than ten seconds", arguments: noises)
  func more(_ noise: Noise) {
    let seconds = median { cold(noise, size: 6 * 65_536, seed: $0) }
    #expect(seconds < 10, "\(seconds)")
  }

  @Test(
    "if a good line becomes very bad, a transfer is hardly slower than one that starts on such a line",
    arguments: noises)
  func middle(_ noise: Noise) {
    let rest = 131_072
    let begin: UInt64 = 3_000_000_000
    let seconds = median { seed in
      let simulation = simulation(noise, from: begin, seed: seed)
      simulation.open()
      simulation.run(atMost: 1) { simulation.dialer.events.contains(.confirmed) }
      simulation.listener.toSend = 1 << 20
      while simulation.now < begin { simulation.run(atMost: 0.01) }
      let before = simulation.dialer.received
      let isThere = simulation.run(atMost: 60) { simulation.dialer.received >= before + rest }
      #expect(simulation.failure == nil)
      return isThere ? Double(simulation.now - begin) / 1e9 : .infinity
    }
    let fromTheStart = median { cold(noise, size: rest, seed: $0) }
    #expect(seconds < fromTheStart / 0.8, "\(seconds) instead of \(fromTheStart)")
  }

  /// An opening has 5 s. On such a line one in twenty fails, and the dialer tries again.
  @Test(
    "if half of all frames are lost, acknowledgements included, an open session survives",
    arguments: [0, Strength.count])
  func worse(_ correction: Int) {
    for seed in 1...6 as ClosedRange<UInt64> {
      let line = LineConfiguration(baud: 921_600, batch: .milliseconds(1), faults: [DroppedBytes(rate: 0.03)])
      var configuration = LineLayerConfiguration()
      configuration.bytesPerSecond = line.baud / line.bitsPerCharacter
      configuration.correction = correction
      let simulation = Simulation(line, configuration: configuration, seed: seed)
      simulation.opensAgain = true
      #expect(simulation.run(atMost: 60) { simulation.dialer.events.contains(.confirmed) })
      let session = simulation.dialer.session
      simulation.listener.toSend = 16_384
      #expect(simulation.run(atMost: 100) { simulation.dialer.received == 16_384 }, "\(seed)")
      #expect(simulation.ends.allSatisfy { $0.session == session } && simulation.failure == nil, "\(seed)")
    }
  }

  @Test("if a very bad line becomes good, goodput exceeds 93 % of the line rate within a second")
  func recovery() {
    let line = LineConfiguration(
      baud: 921_600, batch: .milliseconds(1), faults: [Temporary(fault: BitFlips(rate: 1e-3), end: 5_000_000_000)])
    let simulation = Simulation(line, seed: 1)
    simulation.open()
    simulation.run(atMost: 3) { simulation.dialer.events.contains(.confirmed) }
    simulation.listener.toSend = 4 << 20
    while simulation.now < 6_000_000_000 { simulation.run(atMost: 0.01) }
    let before = simulation.dialer.received
    simulation.run(atMost: 1)
    #expect(Double(simulation.dialer.received - before) / 92_160 > 0.93)
  }
}
