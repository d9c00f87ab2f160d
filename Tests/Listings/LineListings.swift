import BywayLineDevices
import BywayLineEmulation

// Listings of the documentation about emulated lines that no example or test contains. They are compiled, and never run.

/// docs/testing-with-bad-lines.md
func inVirtualTime() -> [UInt8] {
  var link = VirtualLink(LineConfiguration(baud: 115_200, faults: [BitFlips(rate: 1e-5)]), seed: 7)
  link.send(Array("hello".utf8), from: .a)  // returns how many bytes the transmitter took, as write(2) does
  link.advance(by: .milliseconds(1))  // or to link.nextEvent, where the next thing may happen
  let arrived = link.receive(at: .b)
  return arrived
}

/// docs/testing-with-bad-lines.md
func betweenDevices() throws {
  let line = try PseudoTerminalLine(LineConfiguration(faults: [DroppedBytes(rate: 0.01)]), paths: ("/tmp/a", "/tmp/b"))
  defer { line.close() }
  print("seed", line.seed)  // so that a failure can be repeated
  line.cut(.hangUp)  // both devices are gone, and their paths
  line.restore()  // and back
}
