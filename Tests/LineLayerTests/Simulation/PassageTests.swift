import BywayLineEmulation
import Testing

@testable import BywayLineLayer

/// The times at which pieces of the stream were on the wire: as an end measures them, and as the emulated line knows them.
@Suite("Measured transmission times") struct PassageTests {
  /// Differences between measured and real times, in milliseconds.
  struct Differences {
    /// When the first byte began to leave, as the sender measures it. If nothing is ahead of it, that is at once.
    var began: [Double] = []
    /// When the last byte arrived, as the sender measures it.
    var arrived: [Double] = []
    /// When the peer began to send, as the receiver measures it.
    var replied: [Double] = []
  }

  /// Sends small messages from the dialer, on an idle or busy line, and compares the times of each.
  private func differences(
    _ faults: [any LineFault] = [], bulkFrom: KeyPath<Simulation, Simulation.End>? = nil, baud: Int = 115_200,
    size: Int = 100, seed: UInt64 = 1
  ) -> Differences {
    let simulation = Simulation(LineConfiguration(baud: baud, faults: faults), seed: seed)
    simulation.open()
    simulation.run(atMost: 1)
    if let bulkFrom { simulation[keyPath: bulkFrom].toSend = 1 << 18 }
    simulation.run(atMost: 1)
    var found = Differences()
    for index in -8..<12 {
      simulation.run(atMost: 0.137)
      let (dialer, listener) = (simulation.dialer, simulation.listener)
      let start = simulation.now
      let end = dialer.taken + size
      if bulkFrom != \.dialer { dialer.toSend = end }
      let piece = UInt64(end - size)..<UInt64(end)
      dialer.layer.follow(piece)
      guard simulation.run(atMost: 5, until: { listener.received > end - size }) else { return found }
      let repliedAt = listener.layer.latestArrivalBegan
      guard simulation.run(atMost: 5, until: { listener.received >= end }) else { return found }
      let arrived = simulation.now
      if let replied = repliedAt, index >= 0 {
        found.replied.append((Double(replied) - Double(start)) / 1e6)
      }
      guard
        simulation.run(
          atMost: 5,
          until: {
            dialer.events.contains { if case .passed(let passage) = $0 { passage.bytes == piece } else { false } }
          })
      else { return found }
      guard case .passed(let passage) = dialer.events.last(where: { if case .passed = $0 { true } else { false } })
      else { return found }
      // During the first ones the ends measure the line.
      guard index >= 0 else { continue }
      found.began.append((Double(passage.began) - Double(start)) / 1e6)
      found.arrived.append((Double(passage.arrived) - Double(arrived)) / 1e6)
    }
    #expect(simulation.failure == nil)
    return found
  }

  /// Returns the differences beyond the limit.
  private func far(_ found: [Double], _ limit: Double = 5) -> [Double] { found.filter { abs($0) > limit } }

  private func isClose(_ differences: [Double], _ limit: Double = 5) -> Bool {
    differences.count == 12 && differences.allSatisfy { abs($0) <= limit }
  }

  @Test(
    "on an idle line, both ends measure when a message was on the wire to within 5 ms",
    arguments: [19_200, 115_200, 921_600])
  func idle(baud: Int) {
    let found = differences(baud: baud)
    #expect(
      isClose(found.began) && isClose(found.arrived) && isClose(found.replied), "\(found)")
  }

  @Test("a latency of the line counts once in each direction in the measured times")
  func late() {
    let found = differences([Latency(.milliseconds(40))])
    #expect(
      isClose(found.began) && isClose(found.arrived) && isClose(found.replied), "\(found)")
  }

  @Test("if bulk is ahead of a message, the sender still measures when its last byte arrived")
  func same() {
    let found = differences(bulkFrom: \.dialer)
    #expect(isClose(found.arrived), "\(found.arrived)")
  }

  @Test(
    "if acknowledgements wait behind bulk, the sender still measures the right times",
    arguments: 1...3 as ClosedRange<UInt64>)
  func opposite(seed: UInt64) {
    let found = differences(bulkFrom: \.listener, seed: seed)
    #expect(isClose(found.began) && isClose(found.arrived), "\(found)")
  }

  /// Sometimes a frame is retransmitted although only its acknowledgement was lost.
  @Test("if frames of a message are lost, the sender measures when the last retransmission arrived")
  func lossy() {
    let found = differences([BitFlips(rate: 1e-4)], size: 3000)
    #expect(isClose(found.began) && found.arrived.count == 12 && far(found.arrived).count <= 1, "\(found)")
  }

  @Test("an end measures the arrival of at most 512 pieces at a time")
  func bound() {
    var passages = Passages()
    for index in 0..<10_000 as Range<UInt64> { passages.follow(index..<index + 1) }
    let departure = Passages.Departure(begins: 1, ends: 2, adjusted: nil)
    var passed: [Passage] = []
    passages.acknowledged(.init(bytes: 0..<10_000, first: departure, latest: departure), delay: 3, into: &passed)
    #expect(passed.count == 512 && passed.allSatisfy { $0.began == 1 && $0.arrived == 5 })
  }
}
