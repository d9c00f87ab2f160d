import Foundation
import Glibc
import TestTools
import TransportTestSupport

/// A folder like that of a mounted FunctionFS. A pseudo-terminal stands for the control endpoint, and files stand for the bulk endpoints: a
/// received transfer has the content of one, and a sent transfer is written to the other.
final class FunctionFolder: Sendable {
  static let received = Array("from the computer".utf8)

  let path: String
  private let far: CInt
  private let terminal: String
  /// Keeps the settings of the terminal between two programs.
  private let near: CInt

  /// - Parameter path: a folder that exists.
  init(_ path: String) throws {
    self.path = path
    far = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    var isLocked: CInt = 0
    var number: CInt = 0
    // TIOCSPTLCK and TIOCGPTN of ioctl_tty(2).
    guard far >= 0, ioctl(far, 0x4004_5431, &isLocked) == 0, ioctl(far, 0x8004_5430, &number) == 0 else {
      throw FixtureError("cannot make a pseudo-terminal")
    }
    terminal = "/dev/pts/\(number)"
    near = open(terminal, O_RDWR | O_NOCTTY | O_CLOEXEC)
    var settings = termios()
    guard near >= 0, tcgetattr(near, &settings) == 0 else { throw FixtureError("cannot open the pseudo-terminal") }
    cfmakeraw(&settings)
    guard tcsetattr(near, TCSANOW, &settings) == 0 else { throw FixtureError("cannot set the pseudo-terminal") }
    try FileManager.default.createSymbolicLink(atPath: "\(path)/ep0", withDestinationPath: "/dev/pts/\(number)")
    try Data(Self.received).write(to: URL(filePath: "\(path)/ep1"))
    try Data().write(to: URL(filePath: "\(path)/ep2"))
  }

  deinit {
    close(near)
    close(far)
  }

  /// Reports events of these kinds, as the kernel does.
  func report(_ kinds: UInt8...) throws {
    for kind in kinds {
      let record: [UInt8] = Array(repeating: 0, count: 8) + [kind, 0, 0, 0]
      guard write(far, record, record.count) == record.count else { throw FixtureError("cannot write: \(errno)") }
    }
  }

  /// Returns what was written to the control endpoint.
  func described(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var ready = pollfd(fd: far, events: Int16(POLLIN), revents: 0)
      guard poll(&ready, 1, 20_000) == 1 else { throw FixtureError("nothing came in time") }
      var chunk = [UInt8](repeating: 0, count: count - bytes.count)
      let got = read(far, &chunk, chunk.count)
      guard got > 0 else { throw FixtureError("cannot read: \(errno)") }
      bytes += chunk[..<got]
    }
    return bytes
  }

  /// How many descriptors of the control endpoint this process has open.
  var openControls: Int {
    let open = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).count {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == terminal
    }
    return open - 1
  }

  var sent: [UInt8] { FileManager.default.contents(atPath: "\(path)/ep2").map(Array.init) ?? [] }

  /// Removes the files, as the end of a mount does.
  static func clear(_ path: String) {
    for name in ["ep0", "ep1", "ep2"] { unlink("\(path)/\(name)") }
  }
}
