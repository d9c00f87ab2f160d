/// The hits in a long series of trials with the same small probability.
///
/// It draws the distance to the next hit, instead of a random number for each trial: a bit error rate of 1e-6 needs one number for a
/// million bits. The result does not depend on how the series is split into calls.
public struct RareEvents: Sendable {
  let rate: Double
  private let hazard: Double
  /// The number of misses before the next hit; `nil` before the first draw.
  private var gap: Int?

  /// Creates a series.
  /// - Parameter rate: the probability of a hit, 0 to 1.
  public init(rate: Double) {
    self.rate = rate
    // -log(1 - rate). For the smallest rates, this equals the rate in all digits that matter.
    hazard = rate < 1e-9 ? rate : -naturalLogarithm(1 - rate)
  }

  /// Returns the hits among the next trials in ascending order, counted from 0.
  public mutating func hits(among trials: Int, using random: inout SplitMix64) -> [Int] {
    guard rate > 0 else { return [] }
    var hits: [Int] = []
    var next = gap ?? drawGap(&random)
    while next < trials {
      hits.append(next)
      next += 1 + drawGap(&random)
    }
    gap = next - trials
    return hits
  }

  /// Returns the number of misses before a hit.
  func drawGap(_ random: inout SplitMix64) -> Int {
    let gap = -naturalLogarithm(random.unit()) / hazard
    return gap < 0x1p61 ? Int(gap) : 1 << 61
  }
}

/// A fault that affects each bit or byte with the same probability.
protocol RareFault: LineFault {
  var events: RareEvents { get }
}

extension RareFault {
  public func check() throws(LineConfigurationError) {
    try checkRate(events.rate)
  }
}

/// Returns the natural logarithm. The one of the C library may differ in the last digit between platforms, which would change a replay.
func naturalLogarithm(_ value: Double) -> Double {
  guard value > 0 else { return -.infinity }
  var mantissa = value.significand
  var exponent = Double(value.exponent)
  if mantissa > 1.414_213_562_373_095_1 {
    mantissa /= 2
    exponent += 1
  }
  // log(m) = 2 artanh((m - 1) / (m + 1)); |t| < 0.172, so twelve terms reach the last bit.
  let t = (mantissa - 1) / (mantissa + 1)
  let square = t * t
  var sum = 0.0
  for term in stride(from: 23, through: 1, by: -2) { sum = sum * square + 1 / Double(term) }
  return exponent * 0.693_147_180_559_945_309_4 + 2 * t * sum
}
