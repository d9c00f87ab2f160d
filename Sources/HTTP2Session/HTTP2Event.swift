package import HTTPWire
package import NIOCore

/// What a session has to tell its owner.
///
/// A stream's events come in this order: any number of `informational`, one `head`, any number of `data`, perhaps
/// `trailers`; at any moment `closed`, after which that stream is never named again. `drained` may stand anywhere before.
package enum HTTP2Event: Sendable, Equatable {
  /// The head of a request (to a server) or the final head of a response (to a client).
  case head(StreamID, FieldSection, endStream: Bool)
  /// A 1xx response.
  case informational(StreamID, FieldSection)
  /// A slice of the bytes that were received, not a copy. May be empty where `endStream` is set.
  case data(StreamID, ByteBuffer, endStream: Bool)
  /// The end of the message.
  case trailers(StreamID, FieldSection)

  /// That many body bytes of ours left for the wire: there is room for as many more.
  case drained(StreamID, bytes: Int)
  /// A frame of ours is among what was transmitted, where ``HTTP2Configuration/tellsDepartures`` asks for it: those that begin a
  /// stream, and those that end its sending direction.
  case departed(StreamID, Departure)
  /// The response broke a limit of ours, and its stream is reset. `closed` follows.
  case violated(StreamID, HTTP2Failure)
  /// The stream is over. `isUnprocessed`: the peer did not act on the request (RFC 9113 §8.7), so any method may be
  /// sent again. After a complete exchange the code is `noError`.
  case closed(StreamID, HTTP2ErrorCode, isUnprocessed: Bool)

  /// The peer's first SETTINGS, or new ones. `nil`: no limit was named.
  case settingsReceived(maximumConcurrentStreams: Int?, allowsExtendedConnect: Bool)
  /// The answer to ``HTTP2Session/ping()``.
  case pong(roundTrip: TimeAmount)
  /// The peer opens no streams above `last` any more, and answers none of ours above it.
  case goAway(last: StreamID, HTTP2ErrorCode, debug: String)
  /// The session is over; every stream was closed before. What is left to transmit is the GOAWAY.
  case failed(HTTP2Failure)
}

/// Where a frame stands in all that a session has transmitted.
package struct Departure: Sendable, Equatable {
  /// Counted from the connection's first byte.
  package let bytes: Range<UInt64>
  /// It has a head.
  package let begins: Bool
  /// Nothing follows on its stream.
  package let ends: Bool
}
