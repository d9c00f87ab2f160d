import Byway
package import BywayLineLayer

/// The state of a link at one moment.
package struct LinkSnapshot: Sendable {
  package let name: String
  package let address: String
  /// Its name in the records of exchanges; `nil` if this end serves it, or has not used it yet.
  package let upstream: String?
  /// `up`, `interrupted`
  package let state: String
  /// Seconds since 1970.
  package let since: Int?
  package let reason: String?
  /// The number of running exchanges.
  package internal(set) var running: Int
  package let openings: UInt64?
  package let losses: UInt64?
  /// `nil` if it has no line, or none at the moment.
  package internal(set) var line: LineStatistics?

  package init(
    name: String, address: String, upstream: String? = nil, state: String, since: Int?, reason: String?,
    running: Int = 0, openings: UInt64?, losses: UInt64?, line: LineStatistics?
  ) {
    self.name = name
    self.address = address
    self.upstream = upstream
    self.state = state
    self.since = since
    self.reason = reason
    self.running = running
    self.openings = openings
    self.losses = losses
    self.line = line
  }
}
