/// A session over a line: both directions of a stream, and the questions for it.
struct Session {
  /// The state of the session in section 8 of docs/wire-protocol.md. At a listener every session is open.
  enum Phase {
    /// The incarnation of the listener is not known.
    case asking
    /// The incarnation is known, but the listener has not confirmed the session.
    case opening
    case open
  }

  var id: SessionID
  var phase: Phase
  var sender: StreamSender
  var receiver: StreamReceiver
  var questions: Questions
  /// The streams that each end has announced.
  var ownStreams = StreamOffer.none
  var peerStreams: StreamOffer
  /// The interruption that the session is in; `nil` if there is none.
  var interruption: Interruption?

  /// - Parameter guards: whether the first frames have correction, because the line is not known yet.
  init(_ id: SessionID, window: Int, peerWindow: Int, peer: Abilities, guards: Bool, at now: UInt64) {
    self.id = id
    phase = id.incarnation == 0 ? .asking : .opening
    sender = StreamSender(peerWindow: peerWindow, peer: peer, guards: guards)
    receiver = StreamReceiver(capacity: window)
    questions = Questions(heardAt: now)
    peerStreams = peer.streams
  }

  /// The streams of the session, once the listener is known; `nil` if it has only one.
  var streams: StreamAgreement? { isReady ? StreamAgreement(ownStreams, peerStreams) : nil }

  /// Whether DATA can be sealed: the incarnation of the listener is known.
  var isReady: Bool { phase != .asking }

  /// Whether the peer has confirmed the session.
  var isConfirmed: Bool { phase == .open }

  /// Whether both directions have ended and are acknowledged.
  var isComplete: Bool { sender.finish == .sent && sender.frames.isEmpty && receiver.isComplete }

  /// Whether both ends have ended their directions. Acknowledgements may be missing.
  var isEnding: Bool { sender.finish == .sent && receiver.units.isFinished }

  /// Whether only the last acknowledgement of the peer is missing. The peer may end before it sends one.
  var isLingering: Bool { isEnding && sender.frames.bytes == 0 }
}
