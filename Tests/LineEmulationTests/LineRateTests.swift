import BywayLineEmulation
import Testing

@Suite("The rate of an emulated line")
struct LineRateTests {
  @Test(
    "the byte rate is the baud rate divided by the bits per character, to the nanosecond",
    arguments: [(9600, 10), (115_200, 10), (115_200, 11), (921_600, 10), (3_000_000, 10)])
  func exact(baud: Int, bits: Int) throws {
    let count = 20_000
    let carried = carry(pattern(count), over: LineConfiguration(baud: baud, bitsPerCharacter: bits))
    #expect(carried.bytes == pattern(count))
    let last = try #require(carried.times.last)
    #expect(last == UInt64(count) * UInt64(bits) * 1_000_000_000 / UInt64(baud))
    #expect(carried.times.first == UInt64(bits) * 1_000_000_000 / UInt64(baud))
  }

  @Test("the byte rate follows a clock error", arguments: [-0.02, 0.02, 0.000_5])
  func clockError(error: Double) throws {
    let configuration = LineConfiguration(baud: 921_600, clockError: error)
    let carried = carry(pattern(20_000), over: configuration)
    let rate = try 20_000 / (Double(#require(carried.times.last)) / 1e9)
    #expect(abs(rate / (92_160 * (1 + error)) - 1) < 1e-5)
    #expect(abs(rate / configuration.byteRate - 1) < 1e-5)
  }

  @Test("a byte sent on an idle line takes its whole time")
  func idle() {
    var line = EmulatedLine(LineConfiguration(baud: 1_000_000), seed: 1)
    line.send([1], at: 5_000_003)
    #expect(line.nextArrival == 5_010_003)
    #expect(line.receive(at: 5_010_002).isEmpty)
    #expect(line.receive(at: 5_010_003) == [1])
    #expect(line.nextArrival == nil)
  }

  @Test("the transmitter accepts no more than fits in its queue", arguments: [16, 4096, 20_480])
  func transmitQueue(limit: Int) {
    var line = EmulatedLine(LineConfiguration(baud: 1_000_000, transmitQueue: limit), seed: 1)
    #expect(line.send(pattern(50_000), at: 0) == limit)
    #expect(line.send([1], at: 9_999) == 0)
    #expect(line.acceptable(at: 10_000) == 1)
    #expect(line.send([1, 2], at: 50_000) == 5 - 3)
    #expect(line.acceptable(at: 50_000) == 3)
  }

  @Test("a USB adapter delivers bytes in batches")
  func batches() {
    let configuration = LineConfiguration(baud: 115_200, batch: .milliseconds(16))
    let carried = carry(pattern(1000), over: configuration)
    #expect(carried.bytes == pattern(1000))
    #expect(carried.times.allSatisfy { $0 % 16_000_000 == 0 })
    #expect(Set(carried.times).count == 6)
  }

  @Test("if bytes are not read, those beyond the receive buffer are lost")
  func overrun() {
    var line = EmulatedLine(
      LineConfiguration(baud: 1_000_000, transmitQueue: 10_000, receiveBuffer: 1000), seed: 1)
    line.send(pattern(10_000), at: 0)
    #expect(line.receive(at: 20_000_000) == pattern(1000))
    #expect(line.counters.dropped == 1000)
    #expect(line.receive(at: 25_000_000) == pattern(2000..<2500))
  }

  @Test("a read returns no more bytes than requested")
  func partialReads() {
    var line = EmulatedLine(LineConfiguration(baud: 1_000_000), seed: 1)
    line.send(pattern(100), at: 0)
    #expect(line.receive(at: 1_000_000, atMost: 30) == pattern(30))
    #expect(line.nextArrival.map { $0 <= 1_000_000 } == true)
    #expect(line.receive(at: 1_000_000) == pattern(30..<100))
  }
}
