import Foundation
import Glibc

/// A pseudo-terminal. The test holds one end, like a device; the other end has a path.
package final class PseudoTerminal: Sendable {
  package let path: String
  private let far: CInt
  /// Keeps the settings, and the terminal from hanging up between two programs; `nil` for a program that sets the terminal itself.
  private let near: CInt?

  /// - Parameter isRaw: Whether it passes all bytes unchanged.
  package init(isRaw: Bool = false) throws {
    far = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    var isLocked: CInt = 0
    var number: CInt = 0
    // TIOCSPTLCK and TIOCGPTN of ioctl_tty(2); unlockpt() and ptsname() are not visible to Swift.
    guard far >= 0, ioctl(far, 0x4004_5431, &isLocked) == 0, ioctl(far, 0x8004_5430, &number) == 0 else {
      throw FixtureError("cannot make a pseudo-terminal")
    }
    path = "/dev/pts/\(number)"
    near = isRaw ? try Self.openRaw(path) : nil
  }

  private static func openRaw(_ path: String) throws -> CInt {
    let near = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    var settings = termios()
    guard near >= 0, tcgetattr(near, &settings) == 0 else { throw FixtureError("cannot open \(path)") }
    cfmakeraw(&settings)
    guard tcsetattr(near, TCSANOW, &settings) == 0 else { throw FixtureError("cannot set \(path)") }
    return near
  }

  deinit {
    if let near { close(near) }
    close(far)
  }

  /// Gives the near end a name that may later be moved to another pseudo-terminal, as with device names.
  package func link(as name: String) throws {
    unlink(name)
    guard symlink(path, name) == 0 else { throw FixtureError("cannot make a link") }
  }

  /// The settings of the near end.
  package var settings: [UInt8] {
    get throws {
      var settings = termios()
      guard tcgetattr(far, &settings) == 0 else { throw FixtureError("cannot get the settings") }
      return withUnsafeBytes(of: &settings) { Array($0) }
    }
  }

  package func write(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(far, $0.baseAddress, $0.count) }
      if count < 0, errno != EAGAIN { throw FixtureError("cannot write: \(errno)") }
      if count < 0 { try wait(for: POLLOUT) } else { rest = rest.dropFirst(count) }
    }
  }

  /// Reads the next bytes that the near end sends.
  package func read(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while bytes.count < count {
      let got = Glibc.read(far, &chunk, min(chunk.count, count - bytes.count))
      if got < 0, errno != EAGAIN { throw FixtureError("cannot read: \(errno)") }
      if got <= 0 { try wait(for: POLLIN) } else { bytes += chunk[..<got] }
    }
    return bytes
  }

  /// Whether the near end has sent anything that is not read yet.
  package var hasInput: Bool {
    var count: CInt = 0
    return ioctl(far, UInt(FIONREAD), &count) == 0 && count > 0
  }

  private func wait(for events: Int32) throws {
    var ready = pollfd(fd: far, events: Int16(events), revents: 0)
    guard poll(&ready, 1, 20_000) == 1 else { throw FixtureError("nothing came in time") }
  }
}

/// Returns the number of descriptors of this process for a path.
package func openCount(of path: String) throws -> Int {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
  }.count
}

package let everyByte = (0...255).map { UInt8($0) }
