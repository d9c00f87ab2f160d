/// A client of an upstream, as far as clients are told apart.
enum ClientKey: Hashable {
  /// This process, which asks for itself.
  case own
  case connection(ObjectIdentifier)
  /// On all connections of that user.
  case user(UserName)

  init(of head: borrowing ExchangeHead) {
    if let name = head.visitor.name {
      self = .user(name)
    } else if let connection = head.client {
      self = .connection(connection)
    } else {
      self = .own
    }
  }
}

/// The exchanges of one client at an upstream where some wait.
///
/// Lives on its event loop; held by the line, and by the exchanges.
final class ClientShare {
  var waiting = 0
  /// Exchanges on connections, as far as the line has counted them.
  var running = 0
  /// Counts up with each turn that any client has had.
  var lastTurn: UInt64 = 0

  /// Those with fewer exchanges come first, and of equals the one that has waited longest for a turn.
  static func comesFirst(_ left: ClientShare, _ right: ClientShare) -> Bool {
    (left.running, left.lastTurn) < (right.running, right.lastTurn)
  }
}
