import Glibc

/// The clock that nobody sets.
package enum MonotonicClock {
  /// In nanoseconds, from a beginning of no meaning.
  package static var now: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
