import BywayLibC
import Synchronization

/// Keys that are pressed on the terminal at standard input, without echo and without waiting for the end of a line.
///
/// The terminal's settings are restored by ``close()``, and by anything else that ends or stops the process, except SIGKILL and
/// SIGSTOP.
/// One at a time. Safe on any thread.
package final class KeyInput: Sendable {
  /// The terminal's settings before, for signal handlers, which cannot take a lock. Written once, before they are installed.
  nonisolated(unsafe) private static var before: termios?

  private let isClosed = Mutex(false)

  /// Returns `nil` if standard input is not a terminal.
  package init?() {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
    guard Self.before == nil else { return }
    Self.before = settings
    Self.restoreAtEveryEnd()
  }

  /// Returns the keys since the last call, without waiting.
  package func read() -> [UInt8] {
    isClosed.withLock { isClosed in
      guard !isClosed, Self.isOurs, Self.takeOver() else { return [] }
      return [UInt8](unsafeUninitializedCapacity: 16) { keys, count in
        count = max(0, BywayLibC.read(STDIN_FILENO, keys.baseAddress, 16))
      }
    }
  }

  package func close() {
    isClosed.withLock { isClosed in
      isClosed = true
      Self.restore()
    }
  }

  /// Whether the process is in the foreground: a background job that changes the terminal would be stopped.
  private static var isOurs: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

  /// Sets the terminal at each read, as a shell changes it when a job is stopped. Keys that send signals keep working.
  private static func takeOver() -> Bool {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return false }
    guard settings.c_lflag & tcflag_t(ICANON) != 0 else { return true }
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    // A read returns the available keys without waiting.
    withUnsafeMutableBytes(of: &settings.c_cc) { characters in
      characters[Int(VMIN)] = 0
      characters[Int(VTIME)] = 0
    }
    return tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0
  }

  /// Restores the settings. Can be called from a signal handler.
  private static func restore() {
    if isOurs, var before { tcsetattr(STDIN_FILENO, TCSANOW, &before) }
  }

  private static func restoreAtEveryEnd() {
    atexit { KeyInput.restore() }
    for deadly in [SIGQUIT, SIGABRT, SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGFPE] {
      signal(deadly) { number in
        KeyInput.restore()
        signal(number, SIG_DFL)
        raise(number)
      }
    }
    signal(SIGTSTP) { _ in
      KeyInput.restore()
      raise(SIGSTOP)
    }
  }
}
