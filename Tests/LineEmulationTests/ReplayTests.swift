import BywayLineEmulation
import Testing

@Suite("Reproducibility by seed")
struct ReplayTests {
  static let faults: [any LineFault] = [
    BitFlips(rate: 0.001), DroppedBytes(rate: 0.01), DuplicatedBytes(rate: 0.01), InsertedBytes(rate: 0.01),
    GilbertElliott(
      good: .init(bitErrorRate: 1e-4, meanLength: 200), bad: .init(bitErrorRate: 0.1, meanLength: 30)),
    Latency(.milliseconds(2), jitter: .milliseconds(1)),
    SlowReader(bytesPerSecond: 9000, buffer: 600),
    ForeignLogLine(every: .milliseconds(70)),
  ]

  @Test("the same seed gives the same bytes at the same times, and another seed does not")
  func sameSeed() {
    let configuration = LineConfiguration(faults: Self.faults)
    let first = carry(pattern(20_000), over: configuration, seed: 42)
    let again = carry(pattern(20_000), over: configuration, seed: 42)
    #expect(first.bytes == again.bytes)
    #expect(first.times == again.times)
    #expect(first.bytes != carry(pattern(20_000), over: configuration, seed: 43).bytes)
  }

  @Test("the bytes do not depend on how often the line is read")
  func cutting() {
    var random = SplitMix64(seed: 3)
    let configuration = LineConfiguration(
      cuts: [
        Cut(.stall, at: .milliseconds(100), for: .milliseconds(50)),
        Cut(.lose, at: .milliseconds(300), for: .milliseconds(20)),
      ],
      faults: Self.faults)
    let bytes = pattern(4096)
    var seldom = EmulatedLine(configuration, seed: 9)
    seldom.send(bytes, at: 0)
    let expected = seldom.receive(at: 2_000_000_000)
    for _ in 0..<20 {
      var often = EmulatedLine(configuration, seed: 9)
      often.send(bytes, at: 0)
      var received: [UInt8] = []
      var now: UInt64 = 0
      while now < 2_000_000_000 {
        now = min(2_000_000_000, now + .random(in: 1...30_000_000, using: &random))
        received += often.receive(at: now, atMost: .random(in: 0...3000, using: &random))
      }
      received += often.receive(at: now)
      #expect(received == expected)
    }
  }

  @Test("an additional fault does not change what another fault does")
  func independence() {
    let bytes: [UInt8] = Array(repeating: 0, count: 20_000)
    let alone = carry(bytes, over: LineConfiguration(faults: [BitFlips(rate: 0.001)]))
    let among = carry(
      bytes,
      over: LineConfiguration(faults: [
        Latency(.milliseconds(1), jitter: .milliseconds(1)), BitFlips(rate: 0.001), DuplicatedBytes(rate: 0.1),
      ]))
    #expect(alone.counters.flippedBits > 100)
    #expect(alone.counters.flippedBits == among.counters.flippedBits)
    let positions = alone.bytes.indices.filter { alone.bytes[$0] != 0 }
    let without = apply(BitFlips(rate: 0.001), to: bytes).bytes
    #expect(positions.count == flippedBits(bytes, alone.bytes))
    #expect(without.count == bytes.count)
  }

  @Test("a fault hits the same bytes however they are split", arguments: [1, 7, 1000])
  func pieces(piece: Int) {
    for fault in Self.faults {
      let whole = apply(fault, to: pattern(6000))
      let cut = apply(fault, to: pattern(6000), piece: piece)
      #expect(whole.bytes == cut.bytes, "\(fault)")
      #expect(whole.times == cut.times, "\(fault)")
    }
  }

  @Test("a fault with rate zero changes nothing")
  func zero() {
    let none: [any LineFault] = [
      BitFlips(rate: 0), DroppedBytes(rate: 0), DuplicatedBytes(rate: 0), InsertedBytes(rate: 0), Latency(.zero),
      GilbertElliott(good: .init(bitErrorRate: 0, meanLength: 10), bad: .init(bitErrorRate: 0, meanLength: 10)),
      ForeignLogLine(every: .zero),
    ]
    let clean = carry(pattern(10_000), over: LineConfiguration())
    for fault in none {
      let carried = carry(pattern(10_000), over: LineConfiguration(faults: [fault]))
      #expect(carried.bytes == pattern(10_000), "\(fault)")
      #expect(carried.times == clean.times, "\(fault)")
      #expect(carried.counters == clean.counters)
    }
  }

  @Test("the random generator gives the numbers of SplitMix64's reference implementation")
  func generator() {
    var random = SplitMix64(seed: 1_234_567)
    #expect(random.next() == 6_457_827_717_110_365_317)
    #expect(random.next() == 3_203_168_211_198_807_973)
    #expect(random.next() == 9_817_491_932_198_370_423)
  }
}
