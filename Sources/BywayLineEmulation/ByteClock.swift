/// A clock of a byte stream. It is exact over any length, because the remainder of each byte is carried to the next.
struct ByteClock: Sendable {
  private let whole: UInt64
  private let part: UInt64
  private let parts: UInt64
  private var remainder: UInt64 = 0
  /// The end of the latest byte in nanoseconds.
  private(set) var end: UInt64 = 0

  /// Creates a clock for bytes of `numerator / denominator` nanoseconds. Neither is zero.
  init(numerator: UInt64, denominator: UInt64) {
    whole = numerator / denominator
    part = numerator % denominator
    parts = denominator
  }

  /// The time of a byte in nanoseconds, rounded down.
  var period: UInt64 { whole }

  /// The end of the next byte in nanoseconds.
  var nextEnd: UInt64 { end + whole + (remainder + part >= parts ? 1 : 0) }

  /// Returns a clock of another rate that continues where this one ends.
  func continued(at rate: ByteClock) -> ByteClock {
    var clock = rate
    clock.end = end
    return clock
  }

  /// Returns the end of the byte after this many. It is up to a nanosecond early for each byte.
  func end(of count: Int) -> UInt64 { end + UInt64(count) * whole }

  /// Counts one byte.
  @discardableResult
  mutating func tick() -> UInt64 {
    end += whole
    remainder += part
    if remainder >= parts {
      remainder -= parts
      end += 1
    }
    return end
  }

  /// Skips a time without bytes.
  mutating func idle(until time: UInt64) {
    guard time > end else { return }
    end = time
    remainder = 0
  }
}
