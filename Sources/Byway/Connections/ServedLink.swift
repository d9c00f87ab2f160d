package import LineLayer
package import NIOCore

/// A connection that is served, as others see it.
package struct ServedLink: Sendable {
  /// Of its listener.
  package let address: LinkAddress
  package let since: NIODeadline
  /// `nil` where it goes over no line.
  package let line: LineStatistics?
  /// Of the line, for which it waits.
  package let interruption: LineInterruption?
}
