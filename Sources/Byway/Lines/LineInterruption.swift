package import NIOCore

/// An interruption that a session over a line waits out.
package struct LineInterruption: Sendable {
  package enum Cause: Sendable, Hashable {
    /// The line is gone. The reason is why it cannot be reopened; `nil` if unknown.
    case lost(reason: String?)
    /// The line is there, but the remote end does not answer.
    case silent
  }

  /// The time at which the line was lost, or at which the far end was last heard.
  package let since: NIODeadline
  package let cause: Cause

  package init(since: NIODeadline, _ cause: Cause) {
    self.since = since
    self.cause = cause
  }

  /// Explains the failure of a request that has waited for the end of the interruption.
  package func explanation(of link: String) -> String {
    switch cause {
    case .lost: "The line of \(link) is gone, and has not come back in time."
    case .silent: "The line of \(link) is silent: its far end has not answered in time."
    }
  }

  /// The reason as text for users; `nil` if unknown.
  package var reason: String? {
    switch cause {
    case .lost(let reason): reason
    case .silent: "The far end answers nothing: is the cable plugged in, and is the program at its far end running?"
    }
  }
}
