/// An event of ``LineLayer`` for its owner.
package enum LineLayerEvent: Equatable, Sendable {
  /// Data can be sent. The listener may not know the session yet.
  case ready
  /// The peer has confirmed the session. At a listener, this comes together with ``ready``.
  case confirmed
  /// The next bytes of the stream.
  case received([UInt8])
  /// The bytes of ``LineLayer/follow(_:)`` have arrived at the peer.
  case passed(Passage)
  /// The peer has ended its direction.
  case finished
  /// The line is lost or silent, and the session waits for it.
  case interrupted(Interruption)
  /// A frame of the session arrived after an interruption.
  case resumed
  /// The session is over. A listener waits for the next one.
  case ended(SessionEnd)
}

/// The reason for the end of a session.
package enum SessionEnd: Equatable, Sendable {
  /// Both directions have ended and are acknowledged.
  case finished
  /// The peer was restarted, or does not know the session.
  case peerRestarted
  /// The peer has given up the session.
  case aborted
  /// This end has given up the session.
  case abortedHere
  /// The peer was silent for too long.
  case silence
  /// The line did not come back in time.
  case lineLost
  /// The peer has another version of the protocol; `nil` if its RESET does not name it.
  case version(UInt8?)
  /// Both ends dial. One of them must listen.
  case bothDial
  /// This end receives its own frames.
  case echo
  /// The peer acknowledged data that was never sent.
  case violation
}
