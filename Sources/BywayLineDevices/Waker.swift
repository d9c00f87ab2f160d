import BywayLibC
import CBywayPseudoTerminal

/// Waits for descriptors and for a deadline, and can be woken from any thread.
final class Waker: Sendable {
  private let reading: CInt
  private let writing: CInt

  init() throws(LineFailure) {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else { throw .system("Cannot make a pipe") }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    close(reading)
    close(writing)
  }

  func wake() {
    // A full pipe wakes as well.
    var byte: UInt8 = 0
    _ = write(writing, &byte, 1)
  }

  /// - Parameter time: in nanoseconds; `nil` for as long as it takes.
  func wait(for interests: [pollfd], atMost time: UInt64?) {
    var descriptors = [pollfd(fd: reading, events: Int16(POLLIN), revents: 0)] + interests
    let count = CUnsignedInt(descriptors.count)
    if let time {
      // The caller looks at the clock again anyway.
      let time = min(time, 60_000_000_000)
      var timeout = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
      _ = poll_precisely(&descriptors, count, &timeout)
    } else {
      _ = poll_precisely(&descriptors, count, nil)
    }
    guard descriptors[0].revents != 0 else { return }
    var bytes = [UInt8](repeating: 0, count: 64)
    while read(reading, &bytes, bytes.count) == bytes.count {}
  }
}
