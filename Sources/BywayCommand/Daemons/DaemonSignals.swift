import Glibc

/// What signals mean to a daemon.
enum DaemonSignals {
  enum Meaning: Sendable, Hashable {
    /// Gracefully; the second one at once.
    case stop
    case reload
    case reopenFiles
    /// Others send them to make a program report or rotate. They must not end a daemon in the middle of its requests, as the
    /// system would.
    case nothing(Signal)
  }

  static let all: [Signal] = [.terminate, .interrupt, .hangUp, .user1, .user2]

  /// SIGHUP is sent by people who want a daemon to read its configuration, and by the kernel when a terminal is closed.
  static func meaning(of signal: Signal, terminal: ControllingTerminal, canReload: Bool) -> Meaning {
    switch signal {
    case .terminate, .interrupt: .stop
    case .hangUp: !canReload || terminal.isGone ? .stop : .reload
    case .user1: .reopenFiles
    default: .nothing(signal)
    }
  }
}

/// The terminal that a process was started from, if it was.
struct ControllingTerminal: Sendable {
  private let wasThere: Bool

  init() {
    wasThere = Self.isThere && !Self.ignoresHangUp
  }

  /// It was there when this process began, and has been closed.
  var isGone: Bool { wasThere && !Self.isThere }

  private static var isThere: Bool {
    let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    if terminal >= 0 { close(terminal) }
    return terminal >= 0
  }

  /// Under nohup it is to outlive its terminal.
  private static var ignoresHangUp: Bool {
    var action = sigaction()
    guard sigaction(SIGHUP, nil, &action) == 0 else { return false }
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
