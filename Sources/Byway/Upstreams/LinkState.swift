/// The state of a link as shown to users.
public enum LinkState: String, Sendable, Hashable {
  /// The link has not been used yet.
  case idle
  /// Being opened, for the first time or again.
  case opening
  /// Open.
  case up
  /// The line is gone or silent, and the session waits for it.
  case interrupted
  /// It was open, and has not been needed since.
  case closed
  /// The last connection, or the last attempt to open one, failed. The next request tries again.
  case down
  /// It waits for the remote end to open it.
  case waiting

  /// - Parameter isInbound: whether the remote end opens it.
  package init(_ state: UpstreamStatus.State, isInbound: Bool) {
    switch state {
    case .open: self = .up
    case .interrupted: self = .interrupted
    case _ where isInbound: self = .waiting
    case .idle: self = .idle
    case .opening: self = .opening
    case .closed: self = .closed
    case .down: self = .down
    }
  }
}

extension UpstreamStatus.State {
  /// Why it is not open; `nil` if there is no reason to report.
  package var reason: String? {
    switch self {
    case .interrupted(let interruption): interruption.reason
    case .down(let error): error.message
    case .idle, .opening, .open, .closed: nil
    }
  }
}
