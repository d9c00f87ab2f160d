import NIOCore

/// A connection as its pool sees it, for either HTTP version. The pool only reads these properties.
protocol PooledConnection: AnyObject {
  associatedtype Request: WaitingExchange

  /// Whether a connection carries several exchanges at once.
  static var isMultiplexed: Bool { get }

  /// The name of the server in messages.
  var name: String { get }
  /// The index of its link among those of the upstream.
  var link: Int { get }
  /// Whether an exchange can begin on it now.
  var hasRoom: Bool { get }
  /// Whether the line underneath is gone, and the connection waits for it.
  var isInterrupted: Bool { get }
  /// Whether its peer has proved that it speaks the protocol.
  var isProved: Bool { get }
  /// The least time in which its peer can prove that.
  var timeToProve: TimeAmount { get }
  /// Whether it has served an exchange, or was idle for a while, so that its peer may close it at any moment.
  var isKept: Bool { get }

  // MARK: Streams

  /// The number of exchanges on it.
  var load: Int { get }
  /// The exchanges on it, the oldest first.
  var running: [Request] { get }
  /// The maximum number of streams that the peer allows.
  var streamLimit: Int { get }
  /// Streams that are about to close: their exchanges have left.
  var closingStreams: Int { get }
  /// Whether its last requests failed immediately, so that others are preferred at the moment.
  func rests(at now: NIODeadline) -> Bool
}

extension PooledConnection {
  var isProved: Bool { true }
  var timeToProve: TimeAmount { .zero }
  var isKept: Bool { true }
  var load: Int { hasRoom ? 0 : 1 }
  var running: [Request] { [] }
  var streamLimit: Int { 1 }
  var closingStreams: Int { 0 }
  func rests(at now: NIODeadline) -> Bool { false }
}
