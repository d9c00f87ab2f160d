import HTTPWire
import NIOCore

/// What a session remembers of one open stream.
final class HTTP2Stream {
  let id: StreamID

  /// Who hears of what the peer sends.
  enum Audience {
    /// Nobody yet: its head is still to come.
    case nobody
    /// Nobody at all: its head was too large and was answered with 431.
    case refused
    /// The owner, of its end, too.
    case owner
  }

  /// Towards us.
  enum Input {
    /// The final head.
    case head
    /// A body, or trailers.
    case body
    /// The same, but the owner wants no more of it.
    case unwanted
    /// Nothing: the peer has ended its side.
    case ended
  }

  /// The final head of ours.
  enum Head {
    case none
    /// Until it is sent, nghttp2 reads it where it stands.
    case submitted(FieldSection)
    /// The peer may have acted on it, and nghttp2 asks for body bytes from now on.
    case sent
  }

  /// From us, besides the head.
  enum Output {
    /// There is none.
    case none
    /// More bytes may follow those in `body`.
    case body
    /// No more bytes do.
    case last(trailers: FieldSection?)
    /// The last frame was agreed on.
    case ended
    /// We gave it up. It may end in another way before the RST_STREAM is out; the owner hears this code.
    case reset(HTTP2ErrorCode)
  }

  /// Its place among those that have something to send.
  enum Turn {
    /// It has none.
    case none
    /// In the ``StreamScheduler``.
    case scheduled
    /// The peer's window for it is used up.
    case blocked
  }

  var audience: Audience
  var input = Input.head
  /// Bytes handed over that the reader has not taken.
  var unread = 0
  /// The peer's window on this stream.
  var window: Int
  /// What it has of that without having borrowed it.
  private let initialWindow: Int
  let readAhead: ReadAhead

  /// The size of the request head, which a server counts until the stream ends.
  var headSize = 0
  /// At a server, 1xx heads that wait to be sent. At a client, those that have come.
  var informationalCount = 0
  /// The size of those that wait.
  var informationalSize = 0
  var head = Head.none
  var output = Output.none
  var body = BodyQueue()

  var turn = Turn.none
  var urgency = Urgency.default
  /// Bytes sent so far, as the scheduler counts them.
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

  /// Hands nghttp2 the final head.
  func submit(_ fields: FieldSection, endStream: Bool) {
    head = .submitted(fields)
    output = endStream ? .none : .body
  }

  /// A head may still be submitted.
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

  /// What the peer sends has an addressee.
  var isHeard: Bool { audience != .refused && !isReset }

  /// Something could be sent now if the window allows it.
  var isReady: Bool {
    guard isHeadSent else { return false }
    return switch output {
    case .body: !body.isEmpty
    case .last: true
    case .none, .ended, .reset: false
    }
  }
}
