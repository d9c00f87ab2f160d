/// When each byte of a steady stream ends, exact over any length: the remainder of one byte's time is carried to the next.
struct ByteClock: Sendable {
  private let whole: UInt64
  private let part: UInt64
  private let parts: UInt64
  private var remainder: UInt64 = 0
  /// When the last byte ended, in nanoseconds.
  private(set) var end: UInt64 = 0

  /// A byte takes `numerator / denominator` nanoseconds; neither is zero.
  init(numerator: UInt64, denominator: UInt64) {
    whole = numerator / denominator
    part = numerator % denominator
    parts = denominator
  }

  /// How long a byte takes, rounded down.
  var period: UInt64 { whole }

  /// When the byte after the last one ends.
  var nextEnd: UInt64 { end + whole + (remainder + part >= parts ? 1 : 0) }

  /// Returns a clock of another rate that goes on where this one ended.
  func continued(at rate: ByteClock) -> ByteClock {
    var clock = rate
    clock.end = end
    return clock
  }

  /// When so many more bytes end; up to a nanosecond early for each.
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

  /// Skips the time until then, in which nothing was carried.
  mutating func idle(until time: UInt64) {
    guard time > end else { return }
    end = time
    remainder = 0
  }
}
