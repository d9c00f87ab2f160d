package import NIOCore

/// The state of one of several links to a device, for status reports.
package struct LinkStatus: Sendable {
  package enum State: Sendable {
    /// New requests take it.
    case up
    /// It is not needed, and has no known failure.
    case standingBy
    /// The last connection over it, or the last attempt to open one, failed.
    case down(BywayError)
  }

  /// Its name in messages.
  package let name: String
  /// `nil` where it is not a link.
  package let address: LinkAddress?
  package let state: State
  package let since: NIODeadline
  /// `nil` where each exchange may have a connection of its own.
  package let counts: LinkCounts?
}
