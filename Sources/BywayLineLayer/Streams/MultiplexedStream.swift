/// The state of one stream.
struct MultiplexedStream: Sendable {
  /// The sending direction of a stream.
  enum Output: Equatable {
    case open
    /// END follows the pending bytes.
    case ending
    case ended
    /// ABORT must be sent.
    case aborting
    case aborted
  }

  private(set) var isFree = false
  var output = Output.open
  /// Whether the peer has ended its direction.
  var hasEnded = false
  /// Whether the peer knows the stream, or will learn of it.
  var hasBegun = false
  /// The bytes that were written and not sent.
  var pending = PendingBytes()
  /// The credit for sending, and the credit that this end has granted, in bytes.
  var credit, granted: Int
  /// The bytes that were consumed and not granted again.
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

  /// Whether this end has given up the stream. Received data is dropped.
  var isGivenUp: Bool { output == .aborting || output == .aborted }

  /// Whether CREDIT may be sent. A server grants nothing after END.
  func mayGrant(_ role: Multiplexer.Role) -> Bool {
    if isFree || hasEnded { return false }
    return switch output {
    case .open, .ending: true
    case .ended: role == .client
    case .aborting, .aborted: false
    }
  }
}
