import BywayLibC
import BywayPrimitives
import CBywaySerialPort
import Logging
import Synchronization

/// An open port: locked, raw, and at its rate. Releasing it restores its former state.
///
/// This object's descriptor is for control, and is closed by ``release()``. The descriptors of ``duplicates()`` belong to the
/// channel. Safe on any thread. Do not open a port on an event loop: this may wait for a USB adapter's answers.
final class SerialPort: Sendable {
  private struct Control {
    let descriptor: CInt
    var before: LineSettings?
    var isExclusive = false
  }

  /// The path without symbolic links: `/dev/ttyUSB0`.
  let path: String
  /// Whether there is no hardware. A pseudo-terminal ignores the rate, and does not report queued bytes.
  let isPseudoTerminal: Bool
  private let control: Mutex<Control?>

  /// - Throws: ``SerialFailure``.
  init(path: String, format: LineFormat) throws {
    let (resolved, descriptor) = try Self.open(path)
    self.path = resolved
    control = Mutex(Control(descriptor: descriptor))
    isPseudoTerminal = (try? FileStatus(of: descriptor))?.isPseudoTerminal ?? false
    // From now on, the lock and the settings are undone when the object is released.
    try prepare(descriptor, format)
  }

  deinit { release() }

  /// Restores the port. Only the first call has an effect.
  func release() {
    guard let control = control.withLock({ $0.take() }) else { return }
    let descriptor = control.descriptor
    if let before = control.before {
      // Drop unsent bytes, which would otherwise delay the close for half a minute if the peer does not take them. On a
      // pseudo-terminal this would drop bytes that the other end has not read yet.
      if !isPseudoTerminal { tcflush(descriptor, TCOFLUSH) }
      try? before.apply(to: descriptor)
    }
    if control.isExclusive { _ = ioctl(descriptor, UInt(TIOCNXCL)) }
    // The duplicates live as long as the channel.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Duplicates the descriptor of the open port, for a channel.
  func duplicates() throws -> (input: CInt, output: CInt) {
    try control.withLock { control in
      let input = fcntl(control?.descriptor ?? -1, F_DUPFD_CLOEXEC, 3)
      let output = fcntl(control?.descriptor ?? -1, F_DUPFD_CLOEXEC, 3)
      guard input >= 0, output >= 0 else {
        let error = SystemError.last
        for descriptor in [input, output] where descriptor >= 0 { close(descriptor) }
        throw SerialFailure.unusable(path, "it cannot be opened: \(error)")
      }
      return (input, output)
    }
  }

  /// The number of bytes not sent yet; always 0 on a pseudo-terminal.
  var pendingOutput: Int {
    control.withLock { control in
      var count: CInt = 0
      guard let control, ioctl(control.descriptor, UInt(TIOCOUTQ), &count) == 0 else { return 0 }
      return Int(count)
    }
  }

  /// Passes the descriptor to a closure. Returns `nil` after the release.
  func withDescriptor<Result: Sendable>(_ body: (CInt) -> Result) -> Result? {
    control.withLock { control in
      guard let control else { return nil }
      return body(control.descriptor)
    }
  }

  func requestLowLatency(logger: Logger, advice: SingleAdvice) {
    control.withLock { control in
      guard let control else { return }
      LowLatency.request(of: path, descriptor: control.descriptor, logger: logger, advice: advice)
    }
  }

  private static func open(_ path: String) throws -> (path: String, descriptor: CInt) {
    do {
      let resolved = try SymbolicLink.resolved(path)
      guard try FileStatus(of: resolved).kind == .characterDevice else {
        throw SerialFailure.unusable(path, "it is not a terminal device")
      }
      // Do not wait for a carrier. Do not make it the process's controlling terminal, whose hang-up would end the process.
      return (resolved, try Descriptor.open(resolved, O_RDWR | O_NONBLOCK | O_NOCTTY))
    } catch let error as SystemError {
      throw SerialFailure(opening: path, error)
    }
  }

  private func prepare(_ descriptor: CInt, _ format: LineFormat) throws {
    guard isatty(descriptor) == 1 else {
      // A UART that the board does not have fails with EIO.
      throw errno == ENOTTY
        ? SerialFailure.unusable(path, "it is not a terminal device")
        : SerialFailure(opening: path, SystemError.last)
    }
    guard tcgetsid(descriptor) != getsid(0) else {
      throw SerialFailure.unusable(path, "it is the terminal that this was started from; to serve a login use stdio:")
    }
    try PortLock.take(descriptor, path: path)
    do {
      var before = try LineSettings(of: descriptor)
      before.keepControlLinesAtClose()
      control.withLock { [before] in $0?.before = before }
      let isConfigured = try !isPseudoTerminal && ModemPort.configure(path, format)
      var settings = try LineSettings(of: descriptor)
      settings.makeRaw()
      settings.setFlowControl(format.flow)
      if !isConfigured { settings.setFormat(format) }
      try settings.apply(to: descriptor)
      try check(LineSettings(of: descriptor), format)
    } catch let error as SystemError {
      throw SerialFailure(opening: path, error)
    }
    if !isPseudoTerminal {
      // On a pseudo-terminal it would outlive this process, and block all programs until both ends are closed.
      let isExclusive = ioctl(descriptor, UInt(TIOCEXCL)) == 0
      control.withLock { $0?.isExclusive = isExclusive }
    }
    // Drop input that arrived before.
    tcflush(descriptor, TCIFLUSH)
  }

  /// Checks the settings, because drivers may accept settings and not apply them.
  private func check(_ settings: LineSettings, _ format: LineFormat) throws {
    guard settings.isRaw else { throw SerialFailure.unusable(path, "its driver does not pass all bytes unchanged") }
    guard !isPseudoTerminal else { return }
    // The rates of both ends may differ by about 4 % in total before characters are misread.
    guard abs(settings.baud - format.baud) * 50 <= format.baud else {
      throw SerialFailure.unusable(
        path, "its driver turns baud=\(format.baud) into \(settings.baud); set a rate that it supports, at both ends")
    }
    guard settings.parity == format.parity, settings.stopBits == format.stopBits else {
      throw SerialFailure.unusable(
        path, "its driver does not support \(format); set parity=none and stopbits=1 at both ends")
    }
    guard settings.hasHardwareFlowControl == (format.flow == .rtscts) else {
      throw SerialFailure.unusable(path, "its driver does not support flow=\(format.flow.rawValue)")
    }
  }
}
