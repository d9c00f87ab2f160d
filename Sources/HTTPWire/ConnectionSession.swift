package import NIOCore

/// An exchange's number on its connection. Over HTTP/2 its stream's: odd where the client opened it (RFC 9113 §5.1.1).
@usableFromInline
package typealias StreamID = Int32

/// One connection as a state machine, whichever HTTP it speaks: bytes and time go in, events and bytes come out.
///
/// Whoever drives it calls ``receive(_:at:)`` with what the channel brought, ``nextTransmit(maximum:at:)`` while the channel has
/// room, ``handleTimeout(at:)`` at ``nextDeadline``; after each of them drains ``nextEvent()`` and does what ``ending`` says.
/// It never calls out, so nothing comes back into its caller. Not thread-safe.
package protocol ConnectionSession: AnyObject {
  associatedtype Event

  func receive(_ bytes: consuming ByteBuffer, at now: NIODeadline)
  /// The peer sends no more.
  func receiveEnd(at now: NIODeadline)

  /// What happened, oldest first.
  func nextEvent() -> Event?

  /// Whether ``nextTransmit(maximum:at:)`` is worth a call.
  var wantsTransmit: Bool { get }
  /// What goes on the wire next, about `maximum` bytes at most; `nil`: nothing can.
  ///
  /// Ask for no more than the channel takes now: what is not asked for can still be overtaken.
  func nextTransmit(maximum: Int, at now: NIODeadline) -> ByteBuffer?

  /// `nil`: nothing waits for time to pass.
  var nextDeadline: NIODeadline? { get }
  func handleTimeout(at now: NIODeadline)

  /// Whether a read may be made now; if not, it is owed.
  func admitRead() -> Bool
  /// Whether a read that is owed may be made now.
  func releaseRead(at now: NIODeadline) -> Bool
  /// In bytes: what one read should not exceed.
  var readRoom: Int { get }

  /// `nil`: the connection goes on.
  var ending: ConnectionEnding? { get }
  /// The channel has done what ``ConnectionEnding/endOutput`` asks for.
  func outputEnded(at now: NIODeadline)
}

/// How a connection is to end.
package enum ConnectionEnding: Hashable {
  /// Once everything has been written, our direction ends; the peer may still send.
  case endOutput
  /// Once everything has been written, or that time is over.
  case close(within: TimeAmount)
  /// Now.
  /// - Parameter byReset: an orderly close would look like the end of a message that is not whole.
  case abort(byReset: Bool)
}
