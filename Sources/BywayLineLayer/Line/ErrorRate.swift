/// How often something goes wrong in how many bytes, as far as it was seen lately.
struct ErrorRate {
  /// Errors, in halves, and the bytes that they are the errors of.
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
  /// Since when there have been more errors than `lasting` explains, or fewer.
  private var worse = Evidence()
  private var better = Evidence()

  private static let memory: UInt64 = 1_000_000
  private static let enoughErrors: UInt64 = 400

  /// Begins with half an error in so many bytes.
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

  /// Something was lost or damaged, of this length: it got as far as its first wrong byte, half of it where that is rare, and no
  /// further than is usual.
  func reach(of length: Int) -> UInt64 { max(min(UInt64(length / 2), 2 * lasting.bytes / lasting.halfErrors), 1) }

  /// Forgets the earlier counts if the line has changed (a CUSUM test in each direction).
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
  /// Rounded down.
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
