/// Data bits arrive the wrong way round, each with the same chance: thermal noise, a clock at its limit.
public struct BitFlips: RareFault {
  public static let name = "bit-flips"
  var events: RareEvents

  /// Independent errors at one rate.
  /// - Parameter rate: of data bits, 8 for each byte: the bit error rate.
  public init(rate: Double) {
    events = RareEvents(rate: rate)
  }

  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    for bit in events.hits(among: bytes.count * 8, using: &random) {
      bytes.flip(1 << UInt8(bit % 8), at: bit / 8)
    }
  }
}
