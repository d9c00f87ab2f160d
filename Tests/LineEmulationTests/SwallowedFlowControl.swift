import BywayLineEmulation
import Testing

/// A driver that takes XON and XOFF for itself.
struct SwallowedFlowControl: LineFault {
  static let name = "swallowed-flow-control"

  mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    bytes.remove(at: bytes.values.indices.filter { [0x11, 0x13].contains(bytes.values[$0]) })
  }
}

@Suite("Example of a fault of a user")
struct SwallowedFlowControlTests {
  @Test("a fault that a user has written changes bytes, and its losses are counted")
  func swallows() {
    var line = EmulatedLine(LineConfiguration(faults: [SwallowedFlowControl()]), seed: 1)
    line.send([0x10, 0x11, 0x12, 0x13, 0x14], at: 0)
    #expect(line.receive(at: 1_000_000_000) == [0x10, 0x12, 0x14])
    #expect(line.counters.dropped == 2)
  }
}
