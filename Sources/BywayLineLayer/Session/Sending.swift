/// The direction of a session to the other end.
struct Sending {
  /// The owner's wish to end the stream, and how far it has got.
  enum Finish {
    case notWanted, wanted, sent
  }

  var frames = SendWindow()
  var pending = PendingBytes()
  var finish = Finish.notWanted
  /// The owner has left: since then, or since the latest news of what it had sent.
  var leavingSince: UInt64?
  /// Bytes from the beginning of the stream that are worth waiting for an interrupted line; `nil`: all.
  var worth: UInt64?
  /// Units that the other end takes, from the first on that is not acknowledged.
  var peerWindow: Int
  private(set) var peerLargestPayload: Int
  /// The correction of frames to the peer.
  var corrector: Corrector

  /// - Parameter guards: the first frames bear correction, as nothing is known of the line.
  init(peerWindow: Int, peer: Abilities, guards: Bool) {
    self.peerWindow = peerWindow
    peerLargestPayload = peer.largestPayload
    corrector = Corrector(most: peer.correction, guards: guards)
  }

  /// Takes the abilities of the listener, which is known now.
  mutating func meet(_ peer: Abilities, guards: Bool) {
    peerLargestPayload = peer.largestPayload
    corrector = Corrector(most: peer.correction, guards: guards)
  }

  var hasUnacknowledged: Bool { !frames.isEmpty }

  /// Whether the window is closed. The acknowledgement that opened it may have been lost.
  var isBlocked: Bool { finish != .sent && frames.units >= peerWindow }

  /// Whether a new frame can be cut from the pending bytes, or can end the stream.
  var hasNext: Bool {
    guard frames.count < SendWindow.mostFrames else { return false }
    return pending.isEmpty ? finish == .wanted : frames.units < peerWindow
  }

  /// Whether nothing more is worth waiting for the line.
  var isExpendable: Bool { worth.map { frames.delivered >= $0 } ?? false }

  /// The other end has every byte that was taken from the owner.
  var isDelivered: Bool { pending.isEmpty && frames.bytes == 0 }
}
