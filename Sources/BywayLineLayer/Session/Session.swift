/// One session over a line: both directions of a stream, and the questions that keep it going.
struct Session {
  /// How far both ends have come, as section 8 of docs/wire-protocol.md names it. To a listener every session is open.
  enum Phase {
    /// The listener is not known.
    case asking
    /// It is, but has not proved that it knows the session.
    case opening
    case open
  }

  var id: SessionID
  var phase: Phase
  var sending: Sending
  var receiving: Receiving
  var asking: Asking
  /// The streams that each end has announced.
  var ownStreams = StreamOffer.none
  var peerStreams: StreamOffer
  /// The interruption that the session waits out; `nil` while there is none.
  var interruption: Interruption?

  /// - Parameter guards: the first frames bear correction, as nothing is known of the line.
  init(_ id: SessionID, window: Int, peerWindow: Int, peer: Abilities, guards: Bool, at now: UInt64) {
    self.id = id
    phase = id.incarnation == 0 ? .asking : .opening
    sending = Sending(peerWindow: peerWindow, peer: peer, guards: guards)
    receiving = Receiving(capacity: window)
    asking = Asking(heardAt: now)
    peerStreams = peer.streams
  }

  /// The streams of the session, once the listener is known; `nil` if it is one stream of bytes.
  var streams: StreamAgreement? { isReady ? StreamAgreement(ownStreams, peerStreams) : nil }

  /// Data may be sealed: the listener's incarnation is known.
  var isReady: Bool { phase != .asking }

  /// The other end has proved that it knows the session.
  var isConfirmed: Bool { phase == .open }

  /// All that this end has to say is said and acknowledged, and all that it will hear is heard.
  var isComplete: Bool { sending.finish == .sent && sending.frames.isEmpty && receiving.isComplete }

  /// Both ends have said all, if not yet heard all.
  var isEnding: Bool { sending.finish == .sent && receiving.units.isFinished }

  /// Only the other end's word that it has heard of the end is missing, which it may not live to send.
  var isLingering: Bool { isEnding && sending.frames.bytes == 0 }
}
