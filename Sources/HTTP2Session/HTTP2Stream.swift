internal import HTTPWire
internal import NIOCore

/// What a session remembers of one open stream.
final class HTTP2Stream {
  let id: StreamID

  // Towards us.

  /// The owner was told of this stream: it hears of its end, too.
  var isAnnounced: Bool
  /// The final head arrived; what follows are trailers.
  var hasHead = false
  /// The peer ended its side.
  var isPeerDone = false
  /// Its head was too large and was answered with 431: nothing of it reaches the owner.
  var isRejected = false
  /// The owner wants no more of what the peer sends.
  var isUnwanted = false
  /// Bytes handed over that the reader has not taken.
  var unread = 0
  /// The peer's window on this stream.
  var window: Int
  /// What it has of that without having borrowed it.
  private let initialWindow: Int
  let readAhead: ReadAhead

  // From us.

  var body = BodyQueue()
  var trailers: FieldSection?
  /// 1xx heads that wait to be sent.
  var informationalCount = 0
  /// A client's head went out, so that the peer may have acted on it; a server's was submitted.
  var isHeadSent = false
  /// The head went out, and nghttp2 asks for body bytes from now on.
  var isStarted = false
  /// No more bytes come after those in `body`.
  var isFinishing = false
  /// We reset it, or sent its last frame.
  var isDone = false
  /// The owner reset it.
  var isReset = false
  /// With what we reset it. It may end in another way before the RST_STREAM is out; the owner hears this.
  var resetCode: HTTP2ErrorCode?
  /// The peer's window for it is used up.
  var isBlocked = false
  var isScheduled = false
  var urgency = Urgency.default
  /// Bytes sent so far, as the scheduler counts them.
  var share: UInt64 = 0

  init(id: StreamID, window: Int, readAhead: ReadAhead, isAnnounced: Bool) {
    self.id = id
    self.window = window
    initialWindow = window
    self.readAhead = readAhead
    self.isAnnounced = isAnnounced
  }

  deinit {
    readAhead.giveBack(window - initialWindow)
  }

  /// Something could be sent now if the window allows it.
  var isReady: Bool { isStarted && !isDone && (isFinishing || !body.isEmpty) }
}
