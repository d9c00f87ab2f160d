import Testing

@testable import BywayLineEmulation

@Suite("Ends with different rates") struct RateMismatchTests {
  private static let text = Array("HTTP/1.1 200 OK, and some more text that a terminal could show.".utf8)

  /// Sends bytes from end a at one rate, and returns what end b reads at another.
  private func carry(
    _ bytes: [UInt8], sent: Int, read: Int, step: Duration = .milliseconds(50)
  ) -> (bytes: [UInt8], counters: LineCounters) {
    var link = VirtualLink(LineConfiguration(), seed: 1)
    link.setRates(LineRates(input: sent, output: sent), LineRates(input: read, output: read))
    link.send(bytes, from: .a)
    var found: [UInt8] = []
    while link.now < 3_000_000_000 {
      link.advance(by: step)
      found += link.receive(at: .b)
    }
    #expect(link.nextEvent == nil)
    return (found, link.counters(from: .a))
  }

  @Test("if both ends have the same rate, every byte arrives at that rate", arguments: [50, 9600, 115_200, 1_500_000])
  func equal(rate: Int) {
    var link = VirtualLink(LineConfiguration(), seed: 1)
    link.setRates(LineRates(input: rate, output: rate), LineRates(input: rate, output: rate))
    link.send([1, 2, 3], from: .a)
    let end = 30 * 1_000_000_000 / UInt64(rate)
    link.advance(to: end - 1)
    #expect(link.receive(at: .b) == [1, 2])
    link.advance(to: end + 1)
    #expect(link.receive(at: .b) == [3])
    #expect(link.counters(from: .a).framingErrors == 0)
  }

  @Test("if the rates of both ends differ by at most 3 %, every byte arrives", arguments: [112_000, 115_200, 118_500])
  func tolerated(rate: Int) {
    let carried = carry(Self.text, sent: 115_200, read: rate)
    #expect(carried.bytes == Self.text && carried.counters.framingErrors == 0)
  }

  @Test(
    "if the rates of both ends differ, a reader gets garbage, and fewer bytes if it is slower",
    arguments: [(115_200, 9600), (115_200, 57_600), (9600, 115_200), (9600, 19_200), (115_200, 105_000)])
  func garbage(sent: Int, read: Int) {
    let carried = carry(Self.text, sent: sent, read: read)
    #expect(!carried.bytes.isEmpty && carried.bytes != Self.text)
    if read * 10 < sent { #expect(carried.bytes.count * 6 < Self.text.count) }
    #expect(carried.counters.framingErrors > 0)
    #expect(carried.counters.delivered == carried.bytes.count && carried.counters.inFlight == 0)
  }

  @Test(
    "if the rates of both ends differ, a byte is sampled as by a UART",
    arguments: [
      // One low bit is two at twice the rate: the start bit and the lowest.
      (0xFF, 9600, 19_200, [0xFE]),
      // The line is low for longer than a byte, so the stop bit is missing.
      (0x00, 9600, 19_200, [0x00]),
      // The low bit is too short for a start bit.
      (0xFF, 115_200, 9600, []),
      (0xFF, 9600, 9600, [0xFF]),
    ] as [(UInt8, Int, Int, [UInt8])])
  func samples(byte: UInt8, sent: Int, read: Int, expected: [UInt8]) {
    let carried = carry([byte], sent: sent, read: read)
    #expect(carried.bytes == expected)
    #expect(carried.counters.framingErrors == (byte == 0 ? 1 : 0))
  }

  @Test(
    "if the rates of both ends differ, a reader gets the same bytes however often it polls",
    arguments: [(115_200, 9600), (9600, 115_200)])
  func steps(sent: Int, read: Int) {
    let seldom = carry(Self.text, sent: sent, read: read, step: .seconds(1))
    for step in [Duration.microseconds(37), .microseconds(130), .milliseconds(3)] {
      #expect(carry(Self.text, sent: sent, read: read, step: step).bytes == seldom.bytes)
    }
  }

  @Test("each direction has the rates of its own sender and reader, which can change")
  func directions() {
    var link = VirtualLink(LineConfiguration(), seed: 1)
    link.setRates(LineRates(input: 9600, output: 115_200), LineRates(input: 115_200, output: 19_200))
    link.send(Self.text, from: .a)
    link.send(Self.text, from: .b)
    link.advance(by: .seconds(1))
    #expect(link.receive(at: .b) == Self.text && link.receive(at: .a) != Self.text)
    link.setRates(LineRates(input: 19_200, output: 115_200), LineRates(input: 115_200, output: 19_200))
    link.send(Self.text, from: .b)
    link.advance(by: .seconds(1))
    #expect(link.receive(at: .a) == Self.text)
  }

  @Test("a hang-up loses the byte that the reader has partly received")
  func hangUp() {
    var link = VirtualLink(LineConfiguration(), seed: 1)
    link.setRates(LineRates(input: 115_200, output: 115_200), LineRates(input: 300, output: 300))
    link.send([UInt8](repeating: 0, count: 200), from: .a)
    // Half of a byte at 300 baud.
    link.advance(by: .milliseconds(15))
    link.cut(.hangUp)
    link.restore()
    link.advance(by: .seconds(1))
    #expect(link.receive(at: .b).isEmpty)
  }

  @Test("a rate that cannot be emulated is replaced by the nearest possible one")
  func extremes() {
    var link = VirtualLink(LineConfiguration(), seed: 1)
    for (a, b) in [(-1, 0), (Int.max, Int.max), (1, 2)] {
      link.setRates(LineRates(input: a, output: a), LineRates(input: b, output: b))
      link.send([7], from: .a)
      link.advance(by: .seconds(1))
      #expect(link.receive(at: .b) == [7])
    }
  }
}
