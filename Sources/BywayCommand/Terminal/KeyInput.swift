import Glibc
import Synchronization

/// Keys as they are pressed on the terminal at standard input: not echoed, and without waiting for the end of a line.
///
/// The terminal is put back by ``close()``, and by whatever else ends or stops the process, save SIGKILL and SIGSTOP.
/// One at a time. Safe on any thread.
final class KeyInput: Sendable {
  /// The terminal as it was, for signal handlers, which cannot take a lock. Written once, before they are installed.
  nonisolated(unsafe) private static var before: termios?

  private let isClosed = Mutex(false)

  /// `nil` where standard input is not a terminal.
  init?() {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
    guard Self.before == nil else { return }
    Self.before = settings
    Self.restoreAtEveryEnd()
  }

  /// What was pressed since the last call; does not wait.
  func read() -> [UInt8] {
    isClosed.withLock { isClosed in
      guard !isClosed, Self.isOurs, Self.takeOver() else { return [] }
      return [UInt8](unsafeUninitializedCapacity: 16) { keys, count in
        count = max(0, Glibc.read(STDIN_FILENO, keys.baseAddress, 16))
      }
    }
  }

  func close() {
    isClosed.withLock { isClosed in
      isClosed = true
      Self.restore()
    }
  }

  /// A job in the background that touches the terminal would be stopped.
  private static var isOurs: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

  /// At each read, as a shell changes the terminal when a job is stopped. Signals of the keyboard stay as they are.
  private static func takeOver() -> Bool {
    var settings = termios()
    guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return false }
    guard settings.c_lflag & tcflag_t(ICANON) != 0 else { return true }
    settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
    // A read takes what is there and never waits.
    withUnsafeMutableBytes(of: &settings.c_cc) { characters in
      characters[Int(VMIN)] = 0
      characters[Int(VTIME)] = 0
    }
    return tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0
  }

  /// Can be called from a signal handler.
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
