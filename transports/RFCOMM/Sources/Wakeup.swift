import BywayLibC
import BywayPrimitives

/// A pipe that wakes a thread in poll(2), once and for all. Safe on any thread.
final class Wakeup: Sendable {
  let reading: CInt
  private let writing: CInt

  init() throws(SystemError) {
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

  func wake() {
    var byte: UInt8 = 0
    _ = write(writing, &byte, 1)
  }
}
