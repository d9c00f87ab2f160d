/// The random number generator of the emulator. The same seed gives the same numbers on each machine.
///
/// SplitMix64 (Steele, Lea, Flood 2014). The generator of the standard library has no seed.
public struct SplitMix64: RandomNumberGenerator, Sendable, Hashable {
  private var state: UInt64

  /// Creates a generator with a seed.
  public init(seed: UInt64) {
    state = seed
  }

  /// Returns the next number. All 64 bits are equally random.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return Self.mixed(state)
  }

  /// Returns a generator for one purpose. It is independent of other draws, so an addition to a test does not change the rest.
  package func stream(named name: String) -> SplitMix64 {
    // The hash is FNV-1a, because `Hasher` differs between runs.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    return SplitMix64(seed: Self.mixed(state ^ Self.mixed(hash)))
  }

  /// The present state, which can be the seed of another generator.
  package var seed: UInt64 { state }

  /// Returns a number above zero and at most one, so that it has a logarithm.
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
