package import HTTPWire
package import NIOCore

/// What of driving a connection is no matter of HTTP/2: windows pace it, and not reads that are held back.
extension HTTP2Session: ConnectionSession {
  /// How long a peer may take to read the rest.
  private static var lastPatience: TimeAmount { .seconds(30) }

  /// Storage that the channel has let go of is used again; clearing what it still holds makes a new one.
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
