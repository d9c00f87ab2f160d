import Foundation
import Testing

/// A device as a program has it: opened without waiting, read with a deadline.
final class OpenDevice {
  let descriptor: CInt

  init(_ path: String) throws {
    descriptor = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    try #require(descriptor >= 0, "\(path): \(String(cString: strerror(errno)))")
  }

  deinit {
    close(descriptor)
  }

  /// - Returns: how many bytes the terminal took at once.
  func write(_ bytes: [UInt8]) -> Int {
    max(0, Glibc.write(descriptor, bytes, bytes.count))
  }

  /// Reads until this many bytes have arrived, the device hangs up, or ten seconds have passed.
  func read(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count, waits(for: POLLIN) {
      var buffer = [UInt8](repeating: 0, count: 4096)
      let got = Glibc.read(descriptor, &buffer, min(buffer.count, count - bytes.count))
      if got <= 0 { break }
      bytes += buffer.prefix(got)
    }
    return bytes
  }

  /// Writes all bytes, and waits while the terminal accepts none.
  func writeAll(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard waits(for: POLLOUT) else { return false }
      rest = rest.dropFirst(write(Array(rest)))
    }
    return true
  }

  /// Whether the device has hung up.
  func isHungUp() -> Bool {
    var interest = pollfd(fd: descriptor, events: 0, revents: 0)
    guard poll(&interest, 1, 10_000) > 0, interest.revents & Int16(POLLHUP) != 0 else { return false }
    var byte: UInt8 = 0
    return Glibc.read(descriptor, &byte, 1) <= 0
  }

  private func waits(for event: Int32) -> Bool {
    var interest = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    return poll(&interest, 1, 10_000) > 0 && interest.revents & Int16(event) != 0
  }
}

func pattern(_ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }
}
