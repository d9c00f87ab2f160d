import BywayLibC

/// Turns a terminal's echo off, and always on again. Handles one terminal at a time, from one thread. The process may exit
/// meanwhile, also by a signal.
package enum EchoGuard {
  /// State for signal handlers and `atexit`, which cannot take a lock. It is written before they can see it: `descriptor` last.
  nonisolated(unsafe) private static var before = termios()
  nonisolated(unsafe) private static var descriptor: CInt = -1
  nonisolated(unsafe) private static var replaced: [(number: CInt, action: sigaction)] = []

  private static let registration: Void = { atexit { EchoGuard.restoreTerminal() } }()

  package static func begin(on terminal: CInt) {
    guard descriptor < 0, tcgetattr(terminal, &before) == 0 else { return }
    _ = registration
    descriptor = terminal
    // Signals with a handler of the application do not end the process; the others would leave the echo off. For SIGQUIT, the
    // Swift runtime may have a handler that prints a backtrace.
    for number in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
      var old = sigaction()
      guard sigaction(number, nil, &old) == 0, number == SIGQUIT || isDefault(old) else { continue }
      var new = sigaction()
      new.__sigaction_handler.sa_handler = { number in
        EchoGuard.restoreTerminal()
        signal(number, SIG_DFL)
        raise(number)
      }
      if sigaction(number, &new, nil) == 0 { replaced.append((number, old)) }
    }
    hide()
  }

  package static func hide() {
    var settings = termios()
    guard descriptor >= 0, tcgetpgrp(descriptor) == getpgrp(), tcgetattr(descriptor, &settings) == 0,
      settings.c_lflag & tcflag_t(ECHO) != 0
    else { return }
    settings.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(descriptor, TCSANOW, &settings)
  }

  package static func restore() {
    restoreTerminal()
    descriptor = -1
    for (number, action) in replaced {
      var action = action
      sigaction(number, &action, nil)
    }
    replaced = []
  }

  /// Safe to call from a signal handler.
  private static func restoreTerminal() {
    guard descriptor >= 0, tcgetpgrp(descriptor) == getpgrp() else { return }
    tcsetattr(descriptor, TCSANOW, &before)
  }

  private static func isDefault(_ action: sigaction) -> Bool {
    unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0
  }
}
