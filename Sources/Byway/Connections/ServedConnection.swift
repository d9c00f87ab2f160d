package import NIOCore

/// The serving end of a connection, whichever HTTP it speaks. Lives on its channel's event loop.
package protocol ServedConnection: AnyObject {
  /// Requests that have begun and not ended.
  var runningExchanges: Int { get }

  /// Since when it does nothing but wait for its client: for a request, or for the rest of a request's head. `nil` while
  /// it has something to do.
  var idleSince: NIODeadline? { get }

  /// Ends it at once, because others need its place more.
  func giveUpPlace()

  /// Accepts no more requests, lets the running ones finish, then closes the channel.
  func drain()
}
