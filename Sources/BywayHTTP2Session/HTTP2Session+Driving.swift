package import BywayHTTPWire
package import NIOCore

/// The parts of connection driving that HTTP/2 does not need: its pacing uses windows instead of held-back reads.
extension HTTP2Session: ConnectionSession {
  /// The time that a peer may take to read the rest.
  private static var lastPatience: TimeAmount { .seconds(30) }

  /// Storage that the channel has released is reused. If the channel still holds it, clearing allocates new storage.
  package func nextTransmit(maximum: Int, at now: NIODeadline) -> ByteBuffer? {
    outgoing.clear()
    nextTransmit(maximum: maximum, into: &outgoing, at: now)
    return outgoing.readableBytes == 0 ? nil : outgoing
  }

  package func admitRead() -> Bool { true }
  package func releaseRead(at now: NIODeadline) -> Bool { true }
  package var readRoom: Int { .max }

  package var ending: ConnectionEnding? { isFinished ? .close(within: Self.lastPatience) : nil }
  package func outputEnded(at now: NIODeadline) {}
}
