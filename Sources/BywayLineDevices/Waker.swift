import BywayLibC
import BywayPrimitives
import CBywayPseudoTerminal

/// Waits for descriptors and for a deadline, and can be woken from any thread.
final class Waker: Sendable {
  private let wakeup: Wakeup

  init() throws(LineFailure) {
    do {
      wakeup = try Wakeup()
    } catch {
      throw LineFailure("Cannot make a pipe: \(error).")
    }
  }

  func wake() { wakeup.wake() }

  /// - Parameter time: in nanoseconds; `nil` for as long as it takes.
  func wait(for interests: [pollfd], atMost time: UInt64?) {
    var descriptors = [pollfd(fd: wakeup.reading, events: Int16(POLLIN), revents: 0)] + interests
    let count = CUnsignedInt(descriptors.count)
    if let time {
      // The caller looks at the clock again anyway.
      let time = min(time, 60_000_000_000)
      var timeout = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
      _ = poll_precisely(&descriptors, count, &timeout)
    } else {
      _ = poll_precisely(&descriptors, count, nil)
    }
    if descriptors[0].revents != 0 { wakeup.clear() }
  }
}
