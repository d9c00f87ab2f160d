package import NIOCore

/// The serving end of a connection, over either HTTP version. Lives on its channel's event loop.
package protocol ServedConnection: AnyObject {
  /// Requests that have begun and not ended.
  var runningExchanges: Int { get }

  /// Since when it only waits for its client: for a request, or for the rest of a request's head. `nil` while it has work.
  var idleSince: NIODeadline? { get }

  /// Why it has ended, or is about to, as far as the other end or the link has given a reason.
  var farewell: Farewell? { get }

  /// Ends it at once, to make room for other connections.
  func closeIdle()

  /// Accepts no more requests, lets the running ones finish, then closes the channel.
  func drain()
}

extension ServedConnection {
  /// `nil`: clients of a proxy have no reason to give.
  package var farewell: Farewell? { nil }
}
