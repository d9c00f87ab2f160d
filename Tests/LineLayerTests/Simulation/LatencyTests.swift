import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Latency")
struct LatencyTests {
  /// Returns the sorted delays of 40 small messages until the last byte arrived, in milliseconds beyond the time on the wire.
  /// Bulk data is sent in the same or the other direction. A message waits only for bytes that the layer has already accepted.
  private func delays(bulkFrom: KeyPath<Simulation, Simulation.End>?, batch: Duration = .milliseconds(1)) -> [Double] {
    let line = LineConfiguration(baud: 115_200, batch: batch)
    let simulation = Simulation(line, seed: 1)
    simulation.open()
    simulation.run(atMost: 1)
    if let bulkFrom { simulation[keyPath: bulkFrom].toSend = 1 << 20 }
    simulation.run(atMost: 1)
    var delays: [Double] = []
    for _ in 0..<40 {
      simulation.run(atMost: 0.237)
      let start = simulation.now
      // Overtakes bytes that the layer has not accepted yet.
      let mark = simulation.listener.taken + 30
      simulation.listener.toSend = max(simulation.listener.toSend, mark)
      guard simulation.run(atMost: 5, until: { simulation.dialer.received >= mark }) else { return [.infinity] }
      delays.append(Double(simulation.now - start) / 1e6 - 39 / 11.52)
    }
    #expect(simulation.failure == nil)
    return delays.sorted()
  }

  @Test("a small message on an idle line takes at most a few milliseconds longer than its bytes")
  func idle() {
    let delays = delays(bulkFrom: nil)
    #expect(delays[20] <= 2 && delays[39] <= 4, "\(delays)")
  }

  @Test("a bulk transfer in the other direction delays a small message by at most 20 ms")
  func opposite() {
    let delays = delays(bulkFrom: \.dialer)
    #expect(delays[20] <= 5 && delays[39] <= 20, "\(delays)")
  }

  @Test("a bulk transfer in its own direction delays a small message by at most 55 ms")
  func same() {
    let delays = delays(bulkFrom: \.listener)
    #expect(delays[20] <= 45 && delays[39] <= 55, "\(delays)")
  }

  @Test("if an adapter delivers in batches of 16 ms, the latency grows by little more than a batch")
  func batches() {
    let delays = delays(bulkFrom: \.listener, batch: .milliseconds(16))
    #expect(delays[20] <= 66 && delays[39] <= 80, "\(delays)")
  }
}
