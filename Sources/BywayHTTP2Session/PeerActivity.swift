import NIOCore

/// The knowledge of a session about whether its peer is alive.
struct PeerActivity {
  private enum State {
    /// The peer has answered nothing, so it is not known whether bytes pass in both directions.
    case unproven
    case active
    /// A PING was sent, and neither head nor body has arrived since.
    case quiet
  }

  private var state = State.unproven
  private(set) var lastReceived: NIODeadline
  /// The number of bytes sent since the last bytes arrived.
  private(set) var sentIntoSilence = 0

  init(at now: NIODeadline) {
    lastReceived = now
  }

  var isProven: Bool { state != .unproven }
  var isQuiet: Bool { state == .quiet }

  mutating func received(at now: NIODeadline) {
    lastReceived = now
    sentIntoSilence = 0
  }

  mutating func sent(_ count: Int) {
    sentIntoSilence += count
  }

  /// Bytes of ours have arrived, because the peer has answered them.
  mutating func answered() {
    if state == .unproven { state = .active }
  }

  /// A PING is sent to a peer that has answered before.
  mutating func probed() {
    if state == .active { state = .quiet }
  }

  /// A head or a body has arrived.
  /// - Returns: whether the peer was quiet.
  mutating func endQuiet() -> Bool {
    guard state == .quiet else { return false }
    state = .active
    return true
  }
}
