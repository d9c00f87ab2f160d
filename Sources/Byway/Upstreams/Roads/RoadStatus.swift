package import NIOCore

/// How one of several roads to a device is now, for those who look after it.
package struct RoadStatus: Sendable {
  package enum State: Sendable {
    /// New requests take it.
    case up
    /// Nothing is known against it, and it is not needed.
    case standingBy
    /// The last connection over it, or the last try to open one, came to nothing.
    case down(BywayError)
  }

  /// As messages call it.
  package let name: String
  /// `nil` where it is no link.
  package let address: LinkAddress?
  package let state: State
  package let since: NIODeadline
  /// `nil` where each exchange may have a connection of its own.
  package let counts: LinkCounts?
}
