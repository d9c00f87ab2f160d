import NIOCore

/// A rate limit on an action of the peer.
struct TokenBucket {
  private let limit: RateLimit
  /// The level in billionths of a token, so that fractions of a second are not lost.
  private var level: Int
  private var refilledAt: NIODeadline

  private static let token = 1_000_000_000
  /// The maximum that may be earned beyond the burst.
  private static let credit = 1_000_000 * token

  init(_ limit: RateLimit, at now: NIODeadline) {
    self.limit = limit
    level = limit.burst * Self.token
    refilledAt = now
  }

  /// Takes one token. Returns `false` if there is none.
  mutating func take(at now: NIODeadline) -> Bool {
    if level < Self.token { refill(at: now) }
    guard level >= Self.token else { return false }
    level -= Self.token
    return true
  }

  /// Returns tokens after an event that allows further actions.
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
