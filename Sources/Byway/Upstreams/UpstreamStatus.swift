package import BywayLineLayer
package import NIOCore

/// The state of an upstream's connection, for status reports.
package struct UpstreamStatus: Sendable {
  package enum State: Sendable {
    /// The connection has not been used yet.
    case idle
    /// It was open, and has not been needed since.
    case closed
    /// Being opened, for the first time or again.
    case opening
    /// - Parameter since: `nil` if there are several connections.
    case open(since: NIODeadline?)
    /// Open but stalled: its line is gone or silent, and it waits for the line.
    case interrupted(LineInterruption)
    /// The last connection, or the last attempt to open one, failed.
    case down(BywayError)
  }

  /// The numbers of open connections.
  package struct Connections: Sendable, Hashable {
    /// Connections with an exchange.
    package var active = 0
    package var idle = 0

    package init(active: Int = 0, idle: Int = 0) {
      self.active = active
      self.idle = idle
    }

    package static func + (left: Connections, right: Connections) -> Connections {
      Connections(active: left.active + right.active, idle: left.idle + right.idle)
    }
  }

  package let state: State
  /// Its name in the records of exchanges; `nil` before it is made.
  package var name: String?
  package var connections = Connections()
  /// Exchanges that wait for a connection.
  package var waiting = 0
  /// When the connection is opened next; `nil` if no attempt is planned.
  package var nextAttempt: NIODeadline?

  /// Whether a loss of the connection would affect an exchange.
  package var isInUse: Bool { connections.active > 0 || waiting > 0 }
  /// `nil` if there is no line, or no connection over it.
  package let line: LineStatistics?
  /// `nil` where each exchange may have a connection of its own.
  package let counts: LinkCounts?
  /// When a connection last worked; `nil` if one does now, if none has, or if each exchange has its own.
  package let lastSeen: NIODeadline?
  /// The links, the best one first; empty if there is only one.
  package let links: [LinkStatus]

  package init(
    _ state: State, line: LineStatistics? = nil, counts: LinkCounts? = nil, lastSeen: NIODeadline? = nil,
    links: [LinkStatus] = []
  ) {
    self.state = state
    self.links = links
    self.line = line
    self.counts = counts
    self.lastSeen = if case .interrupted(let interruption) = state { interruption.since } else { lastSeen }
  }
}
