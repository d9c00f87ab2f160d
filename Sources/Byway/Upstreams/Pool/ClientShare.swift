/// A client of an upstream, for sharing its capacity among clients.
package enum ClientKey: Hashable, Sendable {
  /// This process itself.
  case own
  case connection(ObjectIdentifier)
  /// All connections of that user.
  case user(UserName)

  package init(of head: borrowing ExchangeHead) {
    if let name = head.user.name {
      self = .user(name)
    } else if let connection = head.client {
      self = .connection(connection)
    } else {
      self = .own
    }
  }
}

/// The exchanges of one client at an upstream that has exchanges waiting.
///
/// Lives on its event loop; held by the queue, and by the exchanges.
final class ClientShare {
  var waiting = 0
  /// Exchanges on connections, as counted by the queue.
  var running = 0
  /// Increases with each turn of any client.
  var lastTurn: UInt64 = 0

  /// Clients with fewer running exchanges come first; among equals, the one that has waited longest for a turn.
  static func comesFirst(_ left: ClientShare, _ right: ClientShare) -> Bool {
    (left.running, left.lastTurn) < (right.running, right.lastTurn)
  }
}
