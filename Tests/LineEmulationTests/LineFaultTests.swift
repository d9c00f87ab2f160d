import BywayLineEmulation
import Testing

@Suite("Faults")
struct LineFaultTests {
  @Test("the counters account for every byte that was sent, lost or inserted")
  func accounts() {
    let configuration = LineConfiguration(
      cuts: [
        Cut(.lose, at: .milliseconds(200), for: .milliseconds(100)),
        Cut(.hangUp, at: .milliseconds(500), for: .milliseconds(5)),
      ],
      faults: ReplayTests.faults)
    let carried = carry(pattern(20_000), over: configuration)
    let counters = carried.counters
    #expect(counters.sent == 20_000)
    #expect(counters.inFlight == 0)
    #expect(counters.delivered == carried.bytes.count)
    #expect(counters.dropped > 1000)
    #expect(counters.foreign > 0 && counters.inserted > 0 && counters.duplicated > 0)
  }

  @Test("latency delays every byte and keeps the order")
  func latency() throws {
    let clean = carry(pattern(5000), over: LineConfiguration())
    let late = carry(pattern(5000), over: LineConfiguration(faults: [Latency(.milliseconds(5))]))
    #expect(late.bytes == clean.bytes)
    #expect(zip(clean.times, late.times).allSatisfy { $0 + 5_000_000 == $1 })
    let jittery = carry(
      pattern(5000), over: LineConfiguration(faults: [Latency(.milliseconds(5), jitter: .milliseconds(3))]))
    #expect(jittery.bytes == clean.bytes)
    #expect(zip(clean.times, jittery.times).allSatisfy { (5_000_000...8_000_000).contains($1 - $0) })
  }

  @Test("a log line of another program takes its time on the wire, and interrupts the data")
  func logLine() throws {
    let line = "a log line\r\n"
    let fault = ForeignLogLine(every: .milliseconds(100), text: line)
    let carried = carry(Array(repeating: 0, count: 11_520), over: LineConfiguration(faults: [fault]))
    let foreign = carried.bytes.filter { $0 != 0 }
    #expect(String(decoding: foreign, as: UTF8.self) == String(repeating: line, count: 10))
    #expect(carried.counters.foreign == foreign.count)
    #expect(carried.counters.delivered == 11_520 + foreign.count)
    // The line was busy all the time: data waits while a log line is sent.
    let last = try #require(carried.times.last)
    #expect(last == UInt64(carried.bytes.count) * 10_000_000_000 / 115_200)
  }

  @Test("a log line of another program appears on an idle line")
  func logLineAlone() throws {
    var line = EmulatedLine(LineConfiguration(faults: [ForeignLogLine(every: .seconds(1))]), seed: 1)
    let next = try #require(line.nextArrival)
    #expect((1_000_000_000...1_000_100_000).contains(next))
    let text = String(decoding: line.receive(at: 1_500_000_000), as: UTF8.self)
    #expect(text.hasPrefix("[    1.000000] usb"))
    #expect(text.hasSuffix("\r\n"))
  }

  @Test("a slow reader whose buffer is large enough gets all bytes at its own rate")
  func slowReader() throws {
    let fault = SlowReader(bytesPerSecond: 1000, buffer: 100_000)
    let carried = carry(pattern(5000), over: LineConfiguration(faults: [fault]))
    #expect(carried.bytes == pattern(5000))
    let last = try #require(carried.times.last)
    #expect((5_000_000_000...5_001_000_000).contains(last))
  }

  @Test("a slow reader loses the bytes that arrive while its buffer is full")
  func slowReaderOverrun() {
    let fault = SlowReader(bytesPerSecond: 1152, buffer: 100)
    let carried = carry(pattern(11_520), over: LineConfiguration(faults: [fault]))
    // A second at 11,520 bytes a second: 1,152 are read meanwhile, 100 wait.
    #expect((1245...1255).contains(carried.bytes.count))
    #expect(carried.counters.dropped == 11_520 - carried.bytes.count)
    #expect(carried.bytes.prefix(100).elementsEqual(pattern(100)))
  }

  @Test("the configuration rejects invalid values, and names them")
  func checks() {
    func message(_ configuration: LineConfiguration) -> String {
      do {
        try configuration.check()
        return "fine"
      } catch {
        return error.description
      }
    }
    #expect(message(LineConfiguration(faults: ReplayTests.faults)) == "fine")
    #expect(message(LineConfiguration(baud: 0)).hasPrefix("baud rate is 0"))
    #expect(message(LineConfiguration(clockError: .nan)).hasPrefix("clock error is nan"))
    #expect(message(LineConfiguration(transmitQueue: 0)).hasPrefix("transmit queue"))
    #expect(message(LineConfiguration(batch: .seconds(-1))).hasPrefix("batch"))
    #expect(message(LineConfiguration(cuts: [Cut(.stall, at: .seconds(1), for: .zero)])).hasPrefix("cut"))
    #expect(message(LineConfiguration(faults: [BitFlips(rate: 1.5)])).hasPrefix("bit-flips rate is 1.5"))
    #expect(message(LineConfiguration(faults: [DroppedBytes(rate: -1)])).hasPrefix("dropped-bytes rate"))
    #expect(message(LineConfiguration(faults: [SlowReader(bytesPerSecond: 0)])).hasPrefix("slow-reader rate"))
    let burst = GilbertElliott.State(bitErrorRate: 0, meanLength: 0)
    #expect(message(LineConfiguration(faults: [GilbertElliott(good: burst, bad: burst)])).hasPrefix("bursts length"))
  }

  @Test("an invalid configuration that was not checked does not trap")
  func nonsense() {
    let state = GilbertElliott.State(bitErrorRate: .nan, meanLength: -.infinity)
    let configuration = LineConfiguration(
      baud: -1, bitsPerCharacter: .max, clockError: .infinity, transmitQueue: .min, batch: .seconds(-1),
      receiveBuffer: -5, cuts: [Cut(.lose, at: .seconds(Int64.max), for: .seconds(Int64.max))],
      faults: [
        BitFlips(rate: .nan), DroppedBytes(rate: -3), DuplicatedBytes(rate: .infinity), InsertedBytes(rate: 2),
        GilbertElliott(good: state, bad: state), SlowReader(bytesPerSecond: .min, buffer: .min), Latency(.seconds(-4)),
      ])
    let carried = carry([1, 2, 3], over: configuration)
    #expect(carried.counters.sent == 3)
  }
}
