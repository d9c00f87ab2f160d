import BywayLineEmulation
import Testing

@Suite("Frequency of faults")
struct FaultStatisticsTests {
  static let many = 100_000

  @Test("bits are flipped at the configured rate", arguments: [1e-3, 1e-4, 1e-2, 0.3])
  func bitErrorRate(rate: Double) {
    let bytes = pattern(Self.many)
    let flips = flippedBits(bytes, apply(BitFlips(rate: rate), to: bytes).bytes)
    expect(flips, near: Double(Self.many * 8) * rate)
  }

  @Test("a bit flip hits each bit of a byte equally often")
  func bitPositions() {
    let damaged = apply(BitFlips(rate: 0.01), to: Array(repeating: 0, count: Self.many)).bytes
    for bit in 0..<8 {
      expect(damaged.count { $0 & (1 << UInt8(bit)) != 0 }, near: Double(Self.many) * 0.01)
    }
  }

  @Test("bytes are lost, duplicated and inserted at the configured rates", arguments: [1e-3, 0.01, 0.25])
  func byteRates(rate: Double) {
    let bytes = pattern(Self.many)
    let expected = Double(Self.many) * rate
    expect(Self.many - apply(DroppedBytes(rate: rate), to: bytes).bytes.count, near: expected)
    expect(apply(DuplicatedBytes(rate: rate), to: bytes).bytes.count - Self.many, near: expected)
    expect(apply(InsertedBytes(rate: rate), to: bytes).bytes.count - Self.many, near: expected)
  }

  @Test("bursts have the configured length, frequency and error rate")
  func bursts() {
    let fault = GilbertElliott(
      good: .init(bitErrorRate: 0, meanLength: 900), bad: .init(bitErrorRate: 0.5, meanLength: 100))
    let zeros: [UInt8] = Array(repeating: 0, count: Self.many)
    let damaged = apply(fault, to: zeros).bytes
    let flips = flippedBits(zeros, damaged)
    #expect(abs(Double(flips) / (Double(Self.many) * 8 * 0.1 * 0.5) - 1) < 0.25)
    // In a burst almost every byte is damaged, so a run of damaged bytes is a burst.
    var bursts = 0
    var sinceDamage = Int.max
    for byte in damaged {
      if byte != 0, sinceDamage > 8 { bursts += 1 }
      sinceDamage = byte != 0 ? 0 : sinceDamage == .max ? .max : sinceDamage + 1
    }
    #expect(abs(Double(bursts) / (Double(Self.many) / 1000) - 1) < 0.25)
  }

  @Test("a fault with rate one hits every byte")
  func always() {
    #expect(apply(DroppedBytes(rate: 1), to: pattern(100)).bytes.isEmpty)
    #expect(apply(BitFlips(rate: 1), to: pattern(100)).bytes == pattern(100).map { ~$0 })
    #expect(apply(DuplicatedBytes(rate: 1), to: [1, 2]).bytes == [1, 1, 2, 2])
  }

  /// Five standard deviations of a binomial count: a correct fault with these seeds stays well inside.
  private func expect(_ count: Int, near expected: Double, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(abs(Double(count) - expected) < 5 * expected.squareRoot(), sourceLocation: sourceLocation)
  }
}
