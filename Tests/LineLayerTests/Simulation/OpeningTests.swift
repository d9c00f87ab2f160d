import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Openings on bad lines") struct OpeningTests {
  /// Returns the seconds until a session has begun, by seed, and `nil` if the dialer gave up.
  private func openings(_ fault: any LineFault, baud: Int, seeds: ClosedRange<UInt64>) -> [Double?] {
    seeds.map { seed in
      let simulation = Simulation(LineConfiguration(baud: baud, faults: [fault]), seed: seed)
      simulation.open()
      let isOpen = simulation.run(atMost: 6) {
        simulation.dialer.events.contains(.confirmed) || simulation.dialer.events.contains(.ended(.silence))
      }
      return isOpen && simulation.dialer.events.contains(.confirmed) ? Double(simulation.now) / 1e9 : nil
    }
  }

  @Test("if 3 % of bytes are lost, at least 198 of 200 dialers open their session")
  func lossy() {
    let found = openings(DroppedBytes(rate: 0.03), baud: 921_600, seeds: 1...200)
    #expect(found.count { $0 == nil } <= 2, "\(found.count { $0 == nil }) of 200 were given up")
  }

  @Test("if a quarter of all frames are damaged, half of all sessions open within 0.5 s")
  func noisy() {
    let seconds = openings(BitFlips(rate: 1e-3), baud: 115_200, seeds: 1...200).compactMap(\.self).sorted()
    #expect(seconds.count == 200 && seconds[100] < 0.5 && seconds[190] < 1.5, "\(seconds.suffix(20))")
  }
}
