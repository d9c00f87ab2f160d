import BywayHTTPWire
import NIOCore

/// The state of one open stream in a session.
final class HTTP2Stream {
  let id: StreamID

  /// The receiver of the peer's message.
  enum Audience {
    /// No receiver yet: the head has not arrived.
    case nobody
    /// No receiver: the head was too large and was answered with 431.
    case refused
    /// The owner. It also gets the end.
    case owner
  }

  /// The next input from the peer.
  enum Input {
    /// The final head.
    case head
    /// The body, or trailers.
    case body
    /// A body or trailers that the owner no longer wants.
    case unwanted
    /// No input: the peer has ended its side.
    case ended
  }

  /// The state of our final head.
  enum Head {
    case none
    /// A head that is not sent yet. nghttp2 reads it in place.
    case submitted(FieldSection)
    /// The peer may have acted on it. From now on nghttp2 asks for body bytes.
    case sent
  }

  /// The state of our output after the head.
  enum Output {
    /// No body.
    case none
    /// More bytes may follow those in `body`.
    case body
    /// No bytes follow those in `body`.
    case last(trailers: FieldSection?)
    /// nghttp2 has been given the size of the last frame.
    case ended
    /// This end reset the stream. The stream may end in another way before the RST_STREAM is sent; the owner receives this
    /// code.
    case reset(HTTP2ErrorCode)
  }

  /// The stream's state in the scheduling.
  enum Turn {
    /// The stream has nothing to send.
    case none
    /// The stream is in the ``StreamScheduler``.
    case scheduled
    /// The peer's window for the stream is used up.
    case blocked
  }

  var audience: Audience
  var input = Input.head
  /// The bytes delivered that the reader has not taken.
  var unread = 0
  /// The peer's window on this stream.
  var window: Int
  /// The part of that window that was not borrowed.
  private let initialWindow: Int
  let readAhead: ReadAhead

  /// The size of the head and trailers of the request, which a server counts until the stream ends.
  var headSize = 0
  /// The number of 1xx heads: queued ones in a server, received ones in a client.
  var informationalCount = 0
  /// The size of the queued ones.
  var informationalSize = 0
  /// The sizes of the final head and of the trailers that wait to be sent, in a server.
  var unsentHeadSize = 0
  var unsentTrailerSize = 0
  var head = Head.none
  var output = Output.none
  var body = BodyQueue()

  var turn = Turn.none
  var urgency = Urgency.default
  /// The bytes sent so far, as the scheduler counts them.
  var share: UInt64 = 0

  init(id: StreamID, window: Int, readAhead: ReadAhead, audience: Audience) {
    self.id = id
    self.window = window
    initialWindow = window
    self.readAhead = readAhead
    self.audience = audience
  }

  deinit {
    if window > initialWindow { readAhead.giveBack(window - initialWindow) }
  }

  /// Records the final head for nghttp2.
  func submit(_ fields: FieldSection, endStream: Bool) {
    head = .submitted(fields)
    output = endStream ? .none : .body
  }

  /// Whether a head may still be submitted.
  var mayAnswer: Bool {
    if case .none = head { !isReset } else { false }
  }

  var isHeadSent: Bool {
    if case .sent = head { true } else { false }
  }

  var takesBody: Bool {
    if case .body = output { true } else { false }
  }

  var isReset: Bool {
    if case .reset = output { true } else { false }
  }

  /// Whether the peer's message is still wanted.
  var isHeard: Bool { audience != .refused && !isReset }

  /// Whether there is something to send, if the window allows it.
  var isReady: Bool {
    guard isHeadSent else { return false }
    return switch output {
    case .body: !body.isEmpty
    case .last: true
    case .none, .ended, .reset: false
    }
  }
}
