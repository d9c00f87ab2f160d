import Byway
import BywayLibC
import Synchronization

/// The original settings of a terminal, which passes all bytes unchanged until they are restored. Safe on any thread.
final class TerminalMode: Sendable {
  private let copy: Mutex<(descriptor: CInt, settings: termios)?>

  /// Makes the terminal raw.
  init(of descriptor: CInt) throws {
    var settings = termios()
    guard tcgetattr(descriptor, &settings) == 0 else {
      throw BywayError(
        .linkUnavailable,
        "Cannot read the settings of the terminal at standard input: start this on a terminal that works.",
        processing: .none)
    }
    var raw = settings
    cfmakeraw(&raw)
    raw.c_cflag |= tcflag_t(CLOCAL)
    tcsetattr(descriptor, TCSANOW, &raw)
    copy = Mutex((try duplicate(descriptor), settings))
  }

  /// Restores the settings after the last bytes were sent. Only the first call has an effect.
  func restore() {
    guard var copy = copy.withLock({ $0.take() }) else { return }
    tcsetattr(copy.descriptor, TCSANOW, &copy.settings)
    close(copy.descriptor)
  }

  deinit { restore() }
}
