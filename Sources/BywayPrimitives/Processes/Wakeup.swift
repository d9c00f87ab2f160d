import BywayLibC

/// A pipe that wakes a thread in poll(2). Safe on any thread.
package final class Wakeup: Sendable {
  /// The descriptor that becomes readable.
  package let reading: CInt
  private let writing: CInt

  package init() throws(SystemError) {
    var ends: [CInt] = [-1, -1]
    try SystemError.check(pipe(&ends))
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

  package func wake() {
    // A full pipe wakes as well.
    var byte: UInt8 = 0
    _ = write(writing, &byte, 1)
  }

  /// Makes the descriptor unreadable until the next call of ``wake()``.
  package func clear() {
    var bytes = [UInt8](repeating: 0, count: 64)
    while read(reading, &bytes, bytes.count) == bytes.count {}
  }
}
