package import LineLayer
package import NIOCore

/// How an upstream's connection is now, for those who look after it.
package struct UpstreamStatus: Sendable {
  package enum State: Sendable {
    /// Nobody has asked for it yet.
    case idle
    /// It was open, and nobody has needed it since.
    case closed
    /// Being opened for the first time, or again.
    case opening
    /// - Parameter since: `nil` where there are several.
    case open(since: NIODeadline?)
    /// Open, but nothing comes or goes: its line is gone or silent, and it waits for that.
    case interrupted(LineInterruption)
    /// The last connection, or the last try to open one, came to nothing.
    case down(BywayError)
  }

  /// Connections that are open.
  package struct Connections: Sendable, Hashable {
    /// With an exchange on them.
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
  package var connections = Connections()
  /// Exchanges that wait for a connection.
  package var waiting = 0

  /// Somebody would notice if it were gone.
  var isInUse: Bool { connections.active > 0 || waiting > 0 }
  /// `nil` where there is none, or no connection over it.
  package let line: LineStatistics?
  /// `nil` where each exchange may have a connection of its own.
  package let counts: LinkCounts?
  /// When a connection was last good; `nil` where one is, or none was, or each exchange has its own.
  package let lastSeen: NIODeadline?
  /// The better one first; empty where there is just one.
  package let roads: [RoadStatus]

  package init(
    _ state: State, line: LineStatistics? = nil, counts: LinkCounts? = nil, lastSeen: NIODeadline? = nil,
    roads: [RoadStatus] = []
  ) {
    self.state = state
    self.roads = roads
    self.line = line
    self.counts = counts
    self.lastSeen = if case .interrupted(let interruption) = state { interruption.since } else { lastSeen }
  }
}
