/// The recent rate of errors in bytes.
struct ErrorRate {
  /// A number of errors, in halves, among a number of bytes.
  struct Evidence {
    var halfErrors: UInt64 = 0
    var bytes: UInt64 = 0

    mutating func add(_ more: Evidence) {
      halfErrors += more.halfErrors
      bytes += more.bytes
    }

    mutating func halve() {
      halfErrors = max(halfErrors / 2, 1)
      bytes = max(bytes / 2, 1)
    }
  }

  private(set) var lasting: Evidence
  /// The evidence since the rate began to differ from `lasting`, upwards and downwards.
  private var worse = Evidence()
  private var better = Evidence()

  private static let memory: UInt64 = 1_000_000
  private static let enoughErrors: UInt64 = 400

  /// Starts with half an error in this many bytes.
  init(halfAnErrorIn bytes: UInt64) {
    lasting = Evidence(halfErrors: 1, bytes: bytes)
  }

  init(halfErrors: UInt64, in bytes: UInt64) {
    lasting = Evidence(halfErrors: max(halfErrors, 1), bytes: max(bytes, 1))
  }

  mutating func note(_ evidence: Evidence) {
    lasting.add(evidence)
    noticeChange(evidence)
    while lasting.bytes > Self.memory || lasting.halfErrors > Self.enoughErrors { lasting.halve() }
  }

  /// Returns the bytes before the first error in a frame that was lost: half of its length where errors are rare, and not more than usual
  /// where they are frequent.
  func reach(of length: Int) -> UInt64 { max(min(UInt64(length / 2), 2 * lasting.bytes / lasting.halfErrors), 1) }

  /// Drops the earlier counts if the line has changed (a CUSUM test in each direction).
  private mutating func noticeChange(_ evidence: Evidence) {
    worse.add(evidence)
    better.add(evidence)
    let fewer = worse.bytes * lasting.halfErrors / lasting.bytes
    let more = better.bytes * lasting.halfErrors / lasting.bytes
    if worse.halfErrors >= 3 * fewer + 8 {
      lasting = worse
      while lasting.halfErrors > 6 { lasting.halve() }
    } else if more >= 3 * better.halfErrors + 20 {
      lasting = better
      lasting.halfErrors += 1
    } else {
      if worse.halfErrors <= 3 * fewer { worse = Evidence() }
      if more <= 3 * better.halfErrors { better = Evidence() }
      return
    }
    worse = Evidence()
    better = Evidence()
  }
}

extension UInt64 {
  /// The square root, rounded down.
  var squareRoot: UInt64 {
    guard self > 1 else { return self }
    var guess = UInt64(1) << UInt64((65 - leadingZeroBitCount) / 2)
    while true {
      let better = (guess + self / guess) / 2
      if better >= guess { return guess }
      guess = better
    }
  }
}
