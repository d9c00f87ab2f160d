import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Openings on bad lines") struct OpeningTests {
  /// Seconds until a session has begun, by seed; `nil` where its first opening was given up.
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

  @Test("where most frames of an opening are lost it comes to something all the same")
  func lossy() {
    let found = openings(DroppedBytes(rate: 0.03), baud: 921_600, seeds: 1...200)
    #expect(found.count { $0 == nil } <= 2, "\(found.count { $0 == nil }) of 200 were given up")
  }

  @Test("noise that spoils a quarter of all frames costs an opening less than a second at most times")
  func noisy() {
    let seconds = openings(BitFlips(rate: 1e-3), baud: 115_200, seeds: 1...200).compactMap(\.self).sorted()
    #expect(seconds.count == 200 && seconds[100] < 0.5 && seconds[190] < 1.5, "\(seconds.suffix(20))")
  }
}
