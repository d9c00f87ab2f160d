/// Errors in bursts: a line alternates between a good and a bad state (Gilbert 1960, Elliott 1963). Causes are a motor that starts, or a
/// loose connector.
public struct GilbertElliott: LineFault {
  /// A state of the line, good or bad.
  public struct State: Sendable, Hashable {
    /// The error rate of data bits.
    public var bitErrorRate: Double
    /// The mean length of a period in this state in bytes, at least 1. Lengths have a geometric distribution.
    public var meanLength: Double

    /// Creates a state.
    /// - Parameters:
    /// - bitErrorRate: the probability that a data bit is wrong, 0 to 1.
    /// - meanLength: the mean length of a period in this state, in bytes.
    public init(bitErrorRate: Double, meanLength: Double) {
      self.bitErrorRate = bitErrorRate
      self.meanLength = meanLength
    }
  }

  public static let name = "bursts"
  private let good: State
  private let bad: State
  private var flips: (good: RareEvents, bad: RareEvents)
  private var isBad = true
  /// The bytes left in this state. It is 0 at first, so the line begins in the good state.
  private var remaining = 0

  /// Creates errors that begin in the good state.
  public init(good: State, bad: State) {
    self.good = good
    self.bad = bad
    flips = (RareEvents(rate: good.bitErrorRate), RareEvents(rate: bad.bitErrorRate))
  }

  public func check() throws(LineConfigurationError) {
    for state in [good, bad] {
      try checkRate(state.bitErrorRate)
      guard (1...1e12).contains(state.meanLength) else {
        throw LineConfigurationError(
          field: "\(Self.name) length", "is \(state.meanLength): use a mean of at least 1 byte.")
      }
    }
  }

  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    var position = 0
    while position < bytes.count {
      if remaining == 0 { change(using: &random) }
      let end = min(bytes.count, position + remaining)
      let bits = (end - position) * 8
      let hits =
        isBad ? flips.bad.hits(among: bits, using: &random) : flips.good.hits(among: bits, using: &random)
      for bit in hits { bytes.flip(1 << UInt8(bit % 8), at: position + bit / 8) }
      remaining -= end - position
      position = end
    }
  }

  private mutating func change(using random: inout SplitMix64) {
    isBad.toggle()
    let mean = max(1, isBad ? bad.meanLength : good.meanLength)
    remaining = 1 + RareEvents(rate: 1 / mean).drawGap(&random)
  }
}
