/// A request and its answer. It can be copied only because an `InlineArray` cannot be initialized otherwise.
struct Request {
  /// The part of the request that is expected next.
  enum State: UInt8 {
    case startLine
    case fields
    case headDone
    case body
    case chunkSize
    case chunkExtension
    case chunk
    case chunkEnd
    case trailers
    case bodyDone
    case complete
    case refused
    case over
  }

  /// The state of the answer. From `content` on it has begun: with a static body, a known length, chunks, or a body up to the end of the
  /// connection.
  enum Answer: UInt8 {
    case noRequest
    case unanswered
    case content
    case known
    case chunked
    case untilEnd
    case answered
  }

  enum Method: UInt8 {
    case get
    case head
    case put
    case post
    case delete
    case other
  }

  /// The state of its stream from the client.
  enum Input: UInt8 {
    case free
    case takes
    case ended
  }

  /// The state of its stream to the client: what is owed, and what was sent.
  enum Output: UInt8 {
    case sends
    case owesEnd
    case owesAbort
    case sentEnd
    case sentAbort

    var hasEnded: Bool { self == .sentEnd || self == .sentAbort }
  }

  var state = State.startLine
  var answer = Answer.noRequest
  var method = Method.get
  /// The number of digits of a chunk's size.
  var digits: UInt8 = 0
  var input = Input.free
  var output = Output.sends
  /// The number of the request, and of its stream.
  var number: UInt8 = 0
  var flags = Flags()
  /// The bytes that the client accepts, and those that it may send.
  var credit: UInt16 = 0
  var granted: UInt16 = 0
  /// The received bytes that were not taken, and how many of them the service was shown.
  var stagedFrom: UInt16 = 0
  var stagedTo: UInt16 = 0
  var offered: UInt16 = 0
  /// The status of an answer by the server itself, or 0.
  var status: UInt16 = 0
  /// The used bytes of the head, the start of the current line, and all bytes of a head or line, including dropped ones.
  var headCount: UInt16 = 0
  var lineStart: UInt16 = 0
  var headSize: UInt16 = 0
  /// The bytes that are missing of the request's body or of its chunk, and of the answer's body.
  var bodyLeft: UInt32 = 0
  var contentLeft: UInt32 = 0
  /// The static body of an answer.
  var content: UnsafePointer<UInt8>?
  var staged: Sizes.Staged = .init(repeating: 0)
  var head: Sizes.Head = .init(repeating: 0)

  /// The flags of a request.
  struct Flags {
    var hasLength = false
    var hasChunks = false
    var hasHost = false
    var expectsContinue = false
    /// Whether the answer is the last of its session or stream.
    var closes = false
    /// Whether the request is HTTP/1.0.
    var isHTTP10 = false
    /// Whether the answer has no body.
    var hasNoBody = false
    /// Whether the current line is too long.
    var isTooLong = false
    /// Whether the client's direction ended after the request.
    var inputEnded = false
    /// Whether an answer waits for room.
    var awaitsRoom = false
  }

  /// Prepares for the next request.
  mutating func reset() {
    state = .startLine
    answer = .noRequest
    flags = Flags()
    digits = 0
    status = 0
    headCount = 0
    lineStart = 0
    headSize = 0
    bodyLeft = 0
  }

  mutating func refuse(_ status: UInt16) {
    state = .refused
    self.status = status
  }

  mutating func dropStaged() {
    stagedFrom = 0
    stagedTo = 0
  }

  mutating func hasConsumedStaged() -> Bool { stagedFrom == stagedTo }

  mutating func takeStaged() -> UInt8 {
    defer { stagedFrom &+= 1 }
    return staged[Int(stagedFrom)]
  }

  /// Whether the answer has begun and is not complete.
  mutating func isAnswering() -> Bool {
    answer.rawValue >= Answer.content.rawValue && answer.rawValue < Answer.answered.rawValue
  }

  /// Whether the head of an answer may be written in this step. Without streams, no other request has used the room since the end of the
  /// body.
  mutating func mayAnswer() -> Bool {
    if Sizes.streams > 0, state == .bodyDone, answer == .unanswered { return true }
    return state == .headDone || (state == .refused && (answer == .noRequest || answer == .unanswered))
  }
}
