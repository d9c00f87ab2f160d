import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Latency")
struct LatencyTests {
  /// Milliseconds from a small message's taking until its last byte is there, each of them beyond its time on the wire.
  /// Bulk comes in the same direction or the other; here the message waits only for what the layer has already taken.
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
      // Overtakes what its owner has not handed over yet.
      let mark = simulation.listener.taken + 30
      simulation.listener.toSend = max(simulation.listener.toSend, mark)
      guard simulation.run(atMost: 5, until: { simulation.dialer.received >= mark }) else { return [.infinity] }
      delays.append(Double(simulation.now - start) / 1e6 - 39 / 11.52)
    }
    #expect(simulation.failure == nil)
    return delays.sorted()
  }

  @Test("a small message on an idle line takes little more than its bytes")
  func idle() {
    let delays = delays(bulkFrom: nil)
    #expect(delays[20] <= 2 && delays[39] <= 4, "\(delays)")
  }

  @Test("a small message is hardly held up by bulk in the other direction")
  func opposite() {
    let delays = delays(bulkFrom: \.dialer)
    #expect(delays[20] <= 5 && delays[39] <= 20, "\(delays)")
  }

  @Test("a small message waits for what is behind the wire and two frames with bulk in its own direction")
  func same() {
    let delays = delays(bulkFrom: \.listener)
    #expect(delays[20] <= 45 && delays[39] <= 55, "\(delays)")
  }

  @Test("batches of 16 ms add no more than themselves")
  func batches() {
    let delays = delays(bulkFrom: \.listener, batch: .milliseconds(16))
    #expect(delays[20] <= 66 && delays[39] <= 80, "\(delays)")
  }
}
