/// The generator behind every decision of the emulator: the same seed gives the same numbers on every machine.
///
/// SplitMix64 (Steele, Lea, Flood 2014). The standard library's own generator cannot be seeded.
public struct SplitMix64: RandomNumberGenerator, Sendable, Hashable {
  private var state: UInt64

  /// A generator at the beginning of its numbers.
  public init(seed: UInt64) {
    state = seed
  }

  /// The next number; all 64 bits are equally random.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mixed(state)
  }

  /// A generator for one purpose, independent of what others draw: what is added to a test does not disturb the rest.
  package func stream(named name: String) -> SplitMix64 {
    // FNV-1a: `Hasher` differs from run to run.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    return SplitMix64(seed: Self.mixed(state ^ Self.mixed(hash)))
  }

  /// The present state, which can seed another generator.
  package var seed: UInt64 { state }

  /// Above zero, at most one: a logarithm may be taken of it.
  package mutating func unit() -> Double {
    Double((next() >> 11) + 1) * 0x1p-53
  }

  private static func mixed(_ value: UInt64) -> UInt64 {
    var z = value
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
