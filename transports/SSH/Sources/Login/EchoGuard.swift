import Glibc

/// Turns a terminal's echo off and, however that ends, on again. One terminal at a time, from one thread; the rest of the
/// process may end meanwhile, by a signal or by itself.
enum EchoGuard {
  /// For signal handlers and `atexit`, which cannot take a lock. Written before they can see it: `descriptor` last.
  nonisolated(unsafe) private static var before = termios()
  nonisolated(unsafe) private static var descriptor: CInt = -1
  nonisolated(unsafe) private static var replaced: [(number: CInt, action: sigaction)] = []

  private static let registration: Void = { atexit { EchoGuard.restoreTerminal() } }()

  static func begin(on terminal: CInt) {
    guard descriptor < 0, tcgetattr(terminal, &before) == 0 else { return }
    _ = registration
    descriptor = terminal
    // A signal that somebody handles ends nothing by itself; the others would leave the terminal mute. For SIGQUIT,
    // Swift's runtime may have a handler, which prints where the process was.
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

  static func hide() {
    var settings = termios()
    guard descriptor >= 0, tcgetpgrp(descriptor) == getpgrp(), tcgetattr(descriptor, &settings) == 0,
      settings.c_lflag & tcflag_t(ECHO) != 0
    else { return }
    settings.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(descriptor, TCSANOW, &settings)
  }

  static func restore() {
    restoreTerminal()
    descriptor = -1
    for (number, action) in replaced {
      var action = action
      sigaction(number, &action, nil)
    }
    replaced = []
  }

  /// Can be called from a signal handler.
  private static func restoreTerminal() {
    guard descriptor >= 0, tcgetpgrp(descriptor) == getpgrp() else { return }
    tcsetattr(descriptor, TCSANOW, &before)
  }

  private static func isDefault(_ action: sigaction) -> Bool {
    unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 0
  }
}
