import BywayLibC

/// The meanings of signals for a daemon.
enum DaemonSignals {
  enum Meaning: Sendable, Hashable {
    /// A graceful stop; the second one stops at once.
    case stop
    case reload
    case reopenFiles
    /// A signal that makes other programs report or rotate their logs. It must not end a daemon during its requests, as the
    /// system's default action would.
    case nothing(Signal)
  }

  static let all: [Signal] = [.terminate, .interrupt, .hangUp, .user1, .user2]

  /// Returns the meaning of a signal. Users send SIGHUP to make a daemon read its configuration; the kernel sends it when a
  /// terminal is closed.
  static func meaning(of signal: Signal, terminal: ControllingTerminal, canReload: Bool) -> Meaning {
    switch signal {
    case .terminate, .interrupt: .stop
    case .hangUp: !canReload || terminal.isGone ? .stop : .reload
    case .user1: .reopenFiles
    default: .nothing(signal)
    }
  }
}

/// The terminal that a process was started from, if any.
struct ControllingTerminal: Sendable {
  private let wasThere: Bool

  init() {
    wasThere = Self.isThere && !Self.ignoresHangUp
  }

  /// Whether the terminal existed when this process began, and has been closed since.
  var isGone: Bool { wasThere && !Self.isThere }

  private static var isThere: Bool {
    let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    if terminal >= 0 { close(terminal) }
    return terminal >= 0
  }

  /// Whether SIGHUP is ignored, as nohup does for a process that outlives its terminal.
  private static var ignoresHangUp: Bool {
    var action = sigaction()
    guard sigaction(SIGHUP, nil, &action) == 0 else { return false }
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
