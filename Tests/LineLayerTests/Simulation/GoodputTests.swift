import BywayLineEmulation
import Testing

@testable import BywayLineLayer

/// The targets of the line layer alone, in virtual time, so the figures are the same on every machine.
@Suite("Goodput")
struct GoodputTests {
  struct Situation: CustomTestStringConvertible {
    var testDescription: String
    var line = LineConfiguration(baud: 921_600, batch: .milliseconds(1))
    var least: Double
    var size = 400_000
    /// Whether the same amount is sent in the other direction.
    var isBothWays = false
    var isPaced = true
    var correction = Strength.count
  }

  private static func situation(
    _ name: String, least: Double, baud: Int = 921_600, errors: Double = 0, size: Int = 400_000,
    bothWays: Bool = false, change: (inout Situation) -> Void = { _ in }
  ) -> Situation {
    var situation = Situation(testDescription: name, least: least, size: size, isBothWays: bothWays)
    situation.line.baud = baud
    if errors > 0 { situation.line.faults = [BitFlips(rate: errors)] }
    change(&situation)
    return situation
  }

  static let situations = [
    situation("a clean line", least: 0.98),
    situation("one bit in a million wrong", least: 0.97, errors: 1e-6),
    situation("one bit in 100,000 wrong", least: 0.92, errors: 1e-5),
    situation("one bit in 10,000 wrong", least: 0.94, errors: 1e-4),
    situation("three bits in 10,000 wrong", least: 0.91, errors: 3e-4),
    situation("one bit in 1000 wrong", least: 0.87, errors: 1e-3),
    situation("one bit in 1000 wrong, both ways", least: 0.83, errors: 1e-3, bothWays: true),
    situation("three bits in 1000 wrong", least: 0.80, errors: 3e-3),
    situation("one bit in 10,000 wrong, and no correction", least: 0.78, errors: 1e-4) { $0.correction = 0 },
    situation("one byte in a hundred lost", least: 0.48, size: 100_000) { $0.line.faults = [DroppedBytes(rate: 0.01)] },
    situation("a clock 2 % slow", least: 0.97) { $0.line.clockError = -0.02 },
    situation("a clock 2 % fast", least: 0.97) { $0.line.clockError = 0.02 },
    situation("a queue of 20 KiB and a slow clock", least: 0.97) {
      $0.line.clockError = -0.02
      $0.line.transmitQueue = 20_480
    },
    situation("batches of 16 ms", least: 0.97) { $0.line.batch = .milliseconds(16) },
    situation("batches of 16 ms and one bit in 100,000 wrong", least: 0.91, errors: 1e-5) {
      $0.line.batch = .milliseconds(16)
    },
    situation("both ways", least: 0.96, bothWays: true),
    situation("both ways, one bit in 100,000 wrong", least: 0.90, errors: 1e-5, bothWays: true),
    situation("115,200 baud", least: 0.94, baud: 115_200, size: 100_000),
    situation(
      "115,200 baud both ways, one bit in 10,000 wrong", least: 0.74, baud: 115_200, errors: 1e-4, size: 60_000,
      bothWays: true),
    situation("9600 baud", least: 0.84, baud: 9600, size: 20_000),
    situation("9600 baud both ways", least: 0.775, baud: 9600, size: 20_000, bothWays: true),
    situation("3,000,000 baud, batches of 16 ms", least: 0.97, baud: 3_000_000) { $0.line.batch = .milliseconds(16) },
    situation("no pacing, a queue of 20 KiB", least: 0.97) {
      $0.isPaced = false
      $0.line.transmitQueue = 20_480
    },
    situation("a log line each second", least: 0.96) { $0.line.faults = [ForeignLogLine(every: .seconds(1))] },
  ]

  @Test("a bulk transfer reaches the goodput that its line allows", arguments: situations, [1, 2] as [UInt64])
  func targets(_ situation: Situation, _ seed: UInt64) {
    let line = situation.line
    var configuration = LineLayerConfiguration()
    configuration.bytesPerSecond = situation.isPaced ? line.baud / line.bitsPerCharacter : nil
    configuration.correction = situation.correction
    let simulation = Simulation(line, configuration: configuration, seed: seed)
    simulation.open()
    #expect(simulation.run(atMost: 5) { simulation.dialer.events.contains(.confirmed) })
    simulation.run(atMost: 0.3)
    let start = simulation.now
    simulation.listener.toSend = situation.size
    simulation.dialer.toSend = situation.isBothWays ? situation.size : 0
    #expect(
      simulation.run(atMost: 600) {
        simulation.dialer.received == situation.size
          && simulation.listener.received == simulation.dialer.toSend
      })
    #expect(simulation.failure == nil)
    let seconds = Double(simulation.now - start) / 1e9
    let goodput = Double(situation.size) / seconds / line.byteRate
    #expect(goodput >= situation.least, "\(goodput)")
  }
}
