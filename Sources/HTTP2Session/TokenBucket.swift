import NIOCore

/// Counts what a peer may do only so often.
struct TokenBucket {
  private let limit: RateLimit
  /// In billionths of a token, so that a fraction of a second is not lost.
  private var level: Int
  private var refilledAt: NIODeadline

  private static let token = 1_000_000_000
  /// What may be earned beyond the burst.
  private static let credit = 1_000_000 * token

  init(_ limit: RateLimit, at now: NIODeadline) {
    self.limit = limit
    level = limit.burst * Self.token
    refilledAt = now
  }

  /// Takes one; false where there is none.
  mutating func take(at now: NIODeadline) -> Bool {
    if level < Self.token { refill(at: now) }
    guard level >= Self.token else { return false }
    level -= Self.token
    return true
  }

  /// Gives some back, because of something that entitles to them.
  mutating func earn(_ count: Int) {
    level = min(max(level, Self.credit), level + count * Self.token)
  }

  private mutating func refill(at now: NIODeadline) {
    let capacity = limit.burst * Self.token
    // A nanosecond earns `perSecond` billionths of a token.
    let (earned, overflow) = Int(clamping: (now - refilledAt).nanoseconds)
      .multipliedReportingOverflow(by: limit.perSecond)
    level = overflow ? capacity : min(capacity, level + max(0, earned))
    refilledAt = now
  }
}
