package import NIOCore

/// Selects the lines of a failure that recurs: the first, each new reason, and then one after 1, 2, 4 … minutes, at most about an hour
/// apart.
package struct RecurrenceLog: Sendable {
  /// The use of one failure in the log.
  package enum Entry: Sendable, Hashable {
    /// A line, with the number of failures since the previous one.
    case line(repeated: Int)
    /// A repetition, which is logged at the debug level.
    case repetition
  }

  private static let shortest = TimeAmount.minutes(1)
  private static let longest = TimeAmount.minutes(64)
  /// The maximum number of new reasons, because they may come from outside.
  private static let mostReasons = 8

  /// The reasons that had a line of their own. Two that alternate are not new each time.
  private var reasons: [String] = []
  private var interval = Self.shortest
  private var next = NIODeadline.uptimeNanoseconds(0)
  private var repeated = 0

  package init() {}

  /// Returns the use of a failure that has happened now.
  package mutating func failed(because reason: String, at now: NIODeadline) -> Entry {
    if reasons.count < Self.mostReasons, !reasons.contains(reason) {
      reasons.append(reason)
      interval = Self.shortest
    } else if now < next {
      repeated += 1
      return .repetition
    } else {
      interval = min(interval * 2, Self.longest)
    }
    next = now + interval
    defer { repeated = 0 }
    return .line(repeated: repeated)
  }
}
