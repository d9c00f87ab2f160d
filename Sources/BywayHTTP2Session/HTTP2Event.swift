package import BywayHTTPWire
package import NIOCore

/// An event of a session for its owner.
///
/// A stream's events come in this order: any number of `informational`, one `head`, any number of `data`, at most one
/// `trailers`. `closed` may come at any time; it is the last event of its stream. `drained` may come anywhere before.
package enum HTTP2Event: Sendable, Equatable {
  /// The head of a request (to a server) or the final head of a response (to a client).
  case head(StreamID, FieldSection, endStream: Bool)
  /// A 1xx response.
  case informational(StreamID, FieldSection)
  /// A slice of the received bytes, not a copy. It may be empty if `endStream` is set.
  case data(StreamID, ByteBuffer, endStream: Bool)
  /// The end of the message.
  case trailers(StreamID, FieldSection)

  /// The number of our body bytes that were sent: there is room for as many more.
  case drained(StreamID, bytes: Int)
  /// A frame of ours was transmitted that starts a stream or ends its sending direction. Only if
  /// ``HTTP2Configuration/tellsDepartures`` is set.
  case departed(StreamID, Departure)
  /// The response exceeded a limit of ours, and its stream is reset. `closed` follows.
  case violated(StreamID, HTTP2Failure)
  /// The stream has ended. With `isUnprocessed` the peer did not act on the request (RFC 9113 §8.7), so any method may be sent
  /// again. After a complete exchange the code is `noError`.
  case closed(StreamID, HTTP2ErrorCode, isUnprocessed: Bool)

  /// The peer's first or updated SETTINGS. `nil` means that it set no limit.
  case settingsReceived(maximumConcurrentStreams: Int?, allowsExtendedConnect: Bool)
  /// The answer to ``HTTP2Session/ping()``.
  case pong(roundTrip: TimeAmount)
  /// The peer opens no more streams above `last`, and does not answer ours above it.
  case goAway(last: StreamID, HTTP2ErrorCode, debug: String)
  /// The session has ended, after all its streams were closed. Only the GOAWAY remains to be transmitted.
  case failed(HTTP2Failure)
}

/// The position of a frame in all bytes that a session has transmitted.
package struct Departure: Sendable, Equatable {
  /// The range, counted from the connection's first byte.
  package let bytes: Range<UInt64>
  /// Whether the frame contains a head.
  package let begins: Bool
  /// Whether the frame is the last one on its stream.
  package let ends: Bool
}
