import Byway
package import LineLayer

/// How a link is, as whoever looks after it has found it.
package struct LinkSight: Sendable {
  package let name: String
  package let address: String
  /// `up`, `interrupted`
  package let state: String
  /// Seconds since 1970.
  package let since: Int?
  package let reason: String?
  /// Exchanges.
  package internal(set) var running: Int
  package let openings: UInt64?
  package let losses: UInt64?
  /// `nil` where it has no line, or none now.
  package internal(set) var line: LineStatistics?

  package init(
    name: String, address: String, state: String, since: Int?, reason: String?, running: Int, openings: UInt64?,
    losses: UInt64?, line: LineStatistics?
  ) {
    self.name = name
    self.address = address
    self.state = state
    self.since = since
    self.reason = reason
    self.running = running
    self.openings = openings
    self.losses = losses
    self.line = line
  }
}
