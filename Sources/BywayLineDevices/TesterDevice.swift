import BywayLibC
import BywayPrimitives

/// The tester's side of a line to a program under test: a pseudo-terminal of its own, which the program opens by name, or a
/// device that exists, whose other side the program has.
///
/// Belongs to one thread; others may interrupt it.
package final class TesterDevice {
  package enum Reading {
    case bytes([UInt8])
    /// The device is gone, and does not come back by itself.
    case gone
  }

  private enum Line {
    case own(PseudoTerminal)
    case existing(CInt)
    case cut
  }

  private let name: TerminalLink
  private let isOwn: Bool
  private var line: Line
  private var unwritten: ArraySlice<UInt8> = []
  private let interruption: Interruption
  private var waker: Waker { interruption.waker }

  /// - Parameter baud: set on a device that exists; a pseudo-terminal has none.
  package init(path: String, baud: Int, _ interruption: Interruption) throws(LineFailure) {
    name = TerminalLink(path)
    self.interruption = interruption
    let status = try? FileStatus(of: path)
    isOwn = status == nil
    if let status {
      guard status.kind == .characterDevice else {
        throw LineFailure("\(path) exists, and is not a device: name another path.")
      }
      line = .existing(try Self.open(path, baud: baud))
    } else {
      line = .cut
      try restore()
    }
  }

  deinit {
    close()
  }

  /// A cable that is ours can be pulled.
  package var canCut: Bool { isOwn }

  package func cut() {
    guard case .own(let terminal) = line else { return }
    name.remove(terminal.name)
    unwritten = []
    line = .cut
  }

  package func restore() throws(LineFailure) {
    guard isOwn, case .cut = line else { return }
    let terminal = try PseudoTerminal()
    try name.place(terminal.name)
    line = .own(terminal)
  }

  package func close() {
    if case .existing(let descriptor) = line {
      BywayLibC.close(descriptor)
      line = .cut
    }
    cut()
  }

  /// Writes bytes. It keeps those that the device does not take.
  package func write(_ bytes: [UInt8]) {
    if case .cut = line { return }
    unwritten += bytes
    flush()
  }

  package func read() -> Reading {
    switch line {
    case .cut: return .bytes([])
    case .own(let terminal): return .bytes(terminal.read(atMost: 4096))
    case .existing(let descriptor):
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = BywayLibC.read(descriptor, &bytes, bytes.count)
      if count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) { return .gone }
      return .bytes(Array(bytes.prefix(max(count, 0))))
    }
  }

  /// Waits until there is something to read, or that much time has passed.
  /// - Returns: whether the user has interrupted.
  package func wait(atMost nanoseconds: UInt64) -> Bool {
    flush()
    let events = POLLIN | (unwritten.isEmpty ? 0 : POLLOUT)
    waker.wait(for: [pollfd(fd: descriptor, events: Int16(events), revents: 0)], atMost: nanoseconds)
    flush()
    return interruption.isWanted
  }

  private func flush() {
    guard !unwritten.isEmpty else { return }
    switch line {
    case .cut: unwritten = []
    case .own(let terminal): unwritten.removeFirst(terminal.write(unwritten))
    case .existing(let descriptor):
      unwritten.removeFirst(unwritten.withUnsafeBytes { max(0, BywayLibC.write(descriptor, $0.baseAddress, $0.count)) })
    }
  }

  private var descriptor: CInt {
    switch line {
    case .own(let terminal): terminal.descriptor
    case .existing(let descriptor): descriptor
    case .cut: -1
    }
  }

  private static func open(_ path: String, baud: Int) throws(LineFailure) -> CInt {
    let descriptor = BywayLibC.open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system("Cannot open \(path)") }
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else {
      defer { BywayLibC.close(descriptor) }
      throw LineFailure("\(path) is not a terminal: write the path of a serial device or a pseudo-terminal.")
    }
    cfmakeraw(&settings)
    settings.c_cflag |= tcflag_t(CLOCAL | CREAD)
    // A rate that the C library has no constant for is left as it is.
    if let speed = Self.speeds[baud] { cfsetspeed(&settings, speed) }
    guard tcsetattr(descriptor, TCSANOW, &settings) == 0 else {
      defer { BywayLibC.close(descriptor) }
      throw .system("Cannot set \(path) to \(baud) baud")
    }
    return descriptor
  }

  private static let speeds: [Int: speed_t] = [
    9600: speed_t(B9600), 19200: speed_t(B19200), 38400: speed_t(B38400), 57600: speed_t(B57600),
    115_200: speed_t(B115200), 230_400: speed_t(B230400), 460_800: speed_t(B460800), 921_600: speed_t(B921600),
    1_000_000: speed_t(B1000000), 1_500_000: speed_t(B1500000), 2_000_000: speed_t(B2000000),
    3_000_000: speed_t(B3000000),
  ]
}
