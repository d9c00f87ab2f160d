package import BywayLineLayer
package import NIOCore

/// A served connection, for status reports.
package struct ServedLink: Sendable {
  /// The address of its listener.
  package let address: LinkAddress
  package let since: NIODeadline
  /// `nil` if it does not go over a line.
  package let line: LineStatistics?
  /// The interruption of the line, which it waits for.
  package let interruption: LineInterruption?
}
