import Glibc

/// What signals mean to a daemon.
struct DaemonSignals: Sendable {
  /// Stop gracefully; the second one at once.
  let stopping: [Signal]
  /// Others send them to make a program reload, rotate its log or report. Here they mean nothing yet, and must not end a
  /// daemon in the middle of its requests, as the system would.
  let ignored: [Signal]

  /// A daemon that was started by hand ends with its terminal; one without a terminal is told SIGHUP by somebody who wants it to
  /// go on, and so is one under nohup.
  static func ofThisProcess() -> DaemonSignals {
    let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
    if terminal >= 0 { close(terminal) }
    let hangUpStops = terminal >= 0 && !isIgnored(SIGHUP)
    return DaemonSignals(
      stopping: [.terminate, .interrupt] + (hangUpStops ? [.hangUp] : []),
      ignored: [.user1, .user2] + (hangUpStops ? [] : [.hangUp]))
  }

  private static func isIgnored(_ signal: CInt) -> Bool {
    var action = sigaction()
    guard sigaction(signal, nil, &action) == 0 else { return false }
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }
}
