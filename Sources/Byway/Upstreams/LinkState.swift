/// How a link is, as people are told of it.
public enum LinkState: String, Sendable, Hashable {
  /// Nobody has asked for it yet.
  case idle
  /// Being opened for the first time, or again.
  case opening
  /// Open.
  case up
  /// Its line is gone or silent, and the session waits for it.
  case interrupted
  /// It was up, and nobody has needed it since.
  case closed
  /// The last connection, or the last try to open one, came to nothing; the next request tries again.
  case down
  /// For the far end, which opens it.
  case waiting

  /// - Parameter isInbound: the far end opens it.
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
  /// Why it is not open; `nil` where there is nothing to tell.
  package var reason: String? {
    switch self {
    case .interrupted(let interruption): interruption.reason
    case .down(let error): error.message
    case .idle, .opening, .open, .closed: nil
    }
  }
}
