package import NIOCore

/// The serving end of a connection, over either HTTP version. Lives on its channel's event loop.
package protocol ServedConnection: AnyObject {
  /// Requests that have begun and not ended.
  var runningExchanges: Int { get }

  /// Since when it only waits for its client: for a request, or for the rest of a request's head. `nil` while it has work.
  var idleSince: NIODeadline? { get }

  /// Ends it at once, to make room for other connections.
  func closeIdle()

  /// Accepts no more requests, lets the running ones finish, then closes the channel.
  func drain()
}
