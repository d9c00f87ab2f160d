import BywayLibC

/// The clock that cannot be set.
package enum MonotonicClock {
  /// The time in nanoseconds, from an arbitrary beginning.
  package static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
