/// Inverted data bits, each with the same probability: thermal noise, or a clock at its limit.
public struct BitFlips: RareFault {
  public static let name = "bit-flips"
  var events: RareEvents

  /// Creates independent errors at one rate.
  /// - Parameter rate: the bit error rate, as a share of the data bits, of which a byte has 8.
  public init(rate: Double) {
    events = RareEvents(rate: rate)
  }

  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    for bit in events.hits(among: bytes.count * 8, using: &random) {
      bytes.flip(1 << UInt8(bit % 8), at: bit / 8)
    }
  }
}
