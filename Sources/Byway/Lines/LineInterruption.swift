package import NIOCore

/// A session's line is gone, and the session waits for it.
package struct LineInterruption: Sendable {
  package let since: NIODeadline
  /// Why it is not back yet, as far as that is known.
  package let reason: String?

  package init(since: NIODeadline, reason: String?) {
    self.since = since
    self.reason = reason
  }
}
