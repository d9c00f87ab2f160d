/// The serving end of a connection, whichever HTTP it speaks. Lives on its channel's event loop.
package protocol ServedConnection: AnyObject {
  /// Requests that have begun and not ended.
  var runningExchanges: Int { get }

  /// Accepts no more requests, lets the running ones finish, then closes the channel.
  func drain()
}
