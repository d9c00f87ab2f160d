/// An event of ``LineLayer`` for its owner.
package enum LineLayerEvent: Equatable, Sendable {
  /// Bytes may be sent. At a dialer the other end may not have heard of the session yet.
  case ready
  /// The other end has confirmed the session; at a listener, the same moment as ``ready``.
  case confirmed
  /// The stream goes on with these bytes.
  case received([UInt8])
  /// The bytes that ``LineLayer/follow(_:)`` named have arrived.
  case passed(Passage)
  /// The other end sends nothing more.
  case finished
  /// The line is lost or silent, and the session waits for it.
  case interrupted(Interruption)
  /// A frame of the session has arrived after an interruption.
  case resumed
  /// The session is over. A listener waits for the next.
  case ended(SessionEnd)
}

/// Why a session is over.
package enum SessionEnd: Equatable, Sendable {
  /// Both ends have said all, and know it.
  case finished
  /// The other end was restarted, or knows nothing of the session any more.
  case peerRestarted
  /// The other end has given it up, for a reason as the wire tells it.
  case aborted
  /// Given up here.
  case abortedHere
  /// The peer was silent for too long.
  case silence
  /// The line did not come back in time.
  case lineLost
  /// The other end speaks another version of the protocol, which a RESET does not name.
  case version(UInt8?)
  /// Both ends dial, and one of them must listen.
  case bothDial
  /// The frames of this end came back to it.
  case echo
  /// The other end acknowledged what it was never sent.
  case violation
}
