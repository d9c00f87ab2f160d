/// The state of one stream.
struct MultiplexedStream: Sendable {
  /// The direction to the other end.
  enum Output: Equatable {
    case open
    /// END follows what is pending.
    case ending
    case ended
    /// ABORT is to be sent.
    case aborting
    case aborted
  }

  private(set) var isFree = false
  var output = Output.open
  /// Whether the other end has ended its direction.
  var hasEnded = false
  /// Whether the other end knows, or will know, of the stream.
  var hasBegun = false
  /// Bytes that were written and not sent.
  var pending = PendingBytes()
  /// The bytes that the other end takes, and those that this end takes.
  var credit, granted: Int
  /// Bytes that were consumed and not granted again.
  var owed = 0

  static let free: MultiplexedStream = {
    var stream = MultiplexedStream(credit: 0, granted: 0)
    stream.isFree = true
    return stream
  }()

  init(credit: Int, granted: Int) {
    self.credit = credit
    self.granted = granted
  }

  var isWritable: Bool { !isFree && output == .open }

  /// Whether this end wants nothing more of what arrives.
  var isGivenUp: Bool { output == .aborting || output == .aborted }

  /// Whether CREDIT may be sent: a server sends nothing behind its end.
  func mayGrant(_ role: Multiplexer.Role) -> Bool {
    if isFree || hasEnded { return false }
    return switch output {
    case .open, .ending: true
    case .ended: role == .client
    case .aborting, .aborted: false
    }
  }
}
