import Glibc

extension Duration {
  /// Of the system's clock, since the beginning of 1970.
  package static var sinceEpoch: Duration {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
  }
}
