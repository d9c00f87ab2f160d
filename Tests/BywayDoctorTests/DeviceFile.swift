import Glibc
import TestTools

/// A device that a test opens in addition to the doctor.
final class DeviceFile: Sendable {
  private let descriptor: CInt

  init(_ path: String) throws {
    descriptor = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw DeviceFailure() }
  }

  deinit { close(descriptor) }

  func write(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.write(descriptor, bytes, bytes.count)
  }

  /// Sets the terminal to its defaults: echo and line mode.
  func makeCooked() {
    var settings = termios()
    tcgetattr(descriptor, &settings)
    settings.c_lflag |= tcflag_t(ECHO | ICANON | ISIG)
    settings.c_iflag |= tcflag_t(ICRNL)
    settings.c_oflag |= tcflag_t(OPOST)
    tcsetattr(descriptor, TCSANOW, &settings)
  }

  var settings: [UInt8] {
    var settings = termios()
    tcgetattr(descriptor, &settings)
    return withUnsafeBytes(of: &settings) { Array($0) }
  }

  private struct DeviceFailure: Error {}
}
