package import NIOCore

/// An interruption that a session over a line waits out.
package struct LineInterruption: Sendable {
  package enum Cause: Sendable, Hashable {
    /// The line is gone. The error of the last attempt to open it is `nil` while there was none.
    case lost(obstacle: String?)
    /// The line is there, but the far end answers nothing.
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

  /// The reason for people; `nil` while none is known.
  package var reason: String? {
    switch cause {
    case .lost(let obstacle): obstacle
    case .silent: "The far end answers nothing: is the cable plugged in, and is the program at its far end running?"
    }
  }
}
