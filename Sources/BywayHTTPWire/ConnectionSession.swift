package import NIOCore

/// The number of an exchange on its connection. Over HTTP/2 it is the stream identifier, which is odd if the client opened the
/// stream (RFC 9113 §5.1.1).
@usableFromInline
package typealias StreamID = Int32

/// A connection as a state machine, for any HTTP version: bytes and time go in, events and bytes come out.
///
/// The driver calls ``receive(_:at:)`` with bytes from the channel, ``nextTransmit(maximum:at:)`` while the channel has room,
/// and ``handleTimeout(at:)`` at ``nextDeadline``. After each of them it drains ``nextEvent()`` and acts on ``ending``. A
/// session calls nothing in its driver, so calls are never reentrant. Not thread-safe.
package protocol ConnectionSession: AnyObject {
  associatedtype Event

  func receive(_ bytes: consuming ByteBuffer, at now: NIODeadline)
  /// Handles the end of the peer's input.
  func receiveEnd(at now: NIODeadline)

  /// Returns the oldest event.
  func nextEvent() -> Event?

  /// Whether to call ``nextTransmit(maximum:at:)``.
  var wantsTransmit: Bool { get }
  /// Returns the next bytes to send, about `maximum` bytes at most; `nil` if nothing can be sent.
  ///
  /// Request only what the channel accepts now: the rest can still be overtaken.
  func nextTransmit(maximum: Int, at now: NIODeadline) -> ByteBuffer?

  /// The time at which to call ``handleTimeout(at:)``; `nil` if no timer runs.
  var nextDeadline: NIODeadline? { get }
  func handleTimeout(at now: NIODeadline)

  /// Whether a read may be made now. If not, it is deferred.
  func admitRead() -> Bool
  /// Whether a deferred read may be made now.
  func releaseRead(at now: NIODeadline) -> Bool
  /// The maximum number of bytes for one read.
  var readRoom: Int { get }

  /// The way to end the connection; `nil` while it continues.
  var ending: ConnectionEnding? { get }
  /// Called after the channel has done what ``ConnectionEnding/endOutput`` asks for.
  func outputEnded(at now: NIODeadline)
}

/// The way in which a connection ends.
package enum ConnectionEnding: Hashable {
  /// Ends our direction after everything has been written. The peer may still send.
  case endOutput
  /// Closes after everything has been written, or after that time.
  case close(within: TimeAmount)
  /// Closes immediately.
  /// - Parameter byReset: whether to reset the connection, because an orderly close would make an incomplete message look
  ///   complete.
  case abort(byReset: Bool)
}
