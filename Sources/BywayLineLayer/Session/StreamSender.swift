/// The sending direction of a session.
struct StreamSender {
  /// The progress of the end of the stream.
  enum Finish {
    case notWanted, wanted, sent
  }

  var frames = SendWindow()
  var pending = PendingBytes()
  var finish = Finish.notWanted
  /// The time at which the owner left or, if later, at which the peer last acknowledged data.
  var leavingSince: UInt64?
  /// The number of bytes from the beginning of the stream that justify waiting for an interrupted line; `nil` for all.
  var worth: UInt64?
  /// The number of units from the first unacknowledged one on that the peer accepts.
  var peerWindow: Int
  private(set) var peerLargestPayload: Int
  /// The correction of frames to the peer.
  var corrector: Corrector

  /// - Parameter guards: whether the first frames have correction, because the line is not known yet.
  init(peerWindow: Int, peer: Abilities, guards: Bool) {
    self.peerWindow = peerWindow
    peerLargestPayload = peer.largestPayload
    corrector = Corrector(most: peer.correction, guards: guards)
  }

  /// Takes the abilities of the listener.
  mutating func meet(_ peer: Abilities, guards: Bool) {
    peerLargestPayload = peer.largestPayload
    corrector = Corrector(most: peer.correction, guards: guards)
  }

  var hasUnacknowledged: Bool { !frames.isEmpty }

  /// Whether the window of the peer is full. The acknowledgement that opens it may have been lost.
  var isBlocked: Bool { finish != .sent && frames.units >= peerWindow }

  /// Whether a new frame can be made from pending bytes, or to end the stream.
  var hasNext: Bool {
    guard frames.count < SendWindow.mostFrames else { return false }
    return pending.isEmpty ? finish == .wanted : frames.units < peerWindow
  }

  /// Whether the remaining data does not justify waiting for the line.
  var isExpendable: Bool { worth.map { frames.delivered >= $0 } ?? false }

  /// Whether the peer has acknowledged all bytes.
  var isDelivered: Bool { pending.isEmpty && frames.bytes == 0 }
}
