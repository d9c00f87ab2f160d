import BywayLibC

/// A time of the calendar, as messages and files contain it. Not for measuring: the clock may be set meanwhile.
package struct WallTime: Hashable, Comparable, Sendable {
  /// The time since the beginning of 1970 in UTC.
  package var sinceEpoch: Duration

  package init(sinceEpoch: Duration) {
    self.sinceEpoch = sinceEpoch
  }

  package static func now() -> WallTime {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return WallTime(sinceEpoch: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
  }

  package static func < (left: WallTime, right: WallTime) -> Bool { left.sinceEpoch < right.sinceEpoch }
  package static func - (left: WallTime, right: WallTime) -> Duration { left.sinceEpoch - right.sinceEpoch }
  package static func + (left: WallTime, right: Duration) -> WallTime {
    WallTime(sinceEpoch: left.sinceEpoch + right)
  }

  /// Whole seconds since 1970, the resolution of HTTP's dates.
  package var seconds: Int { Int(sinceEpoch.components.seconds) }

  /// The nanoseconds that 63 bits hold, with a second to spare: until the year 2262.
  package var nanosecondsSinceEpoch: Int64 {
    Int64(min(max(sinceEpoch.attoseconds / 1_000_000_000, 0), Int128(Int64.max - 1_000_000_000)))
  }

  /// `1994-11-06T08:49:37.123Z` (RFC 3339).
  package var timestamp: String {
    let milliseconds = Int(sinceEpoch.components.attoseconds / 1_000_000_000_000_000)
    return "\(CalendarTime(secondsSinceEpoch: seconds).dateAndTime).\(String(milliseconds, digits: 3))Z"
  }
}
