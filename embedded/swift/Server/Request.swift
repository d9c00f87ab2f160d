/// A request and its answer. It can be copied only because the initial value of an `InlineArray` is a repeated one.
struct Request {
  /// The part that is expected next.
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

  /// The answer. From `content` on it has begun: the kit sends bytes, or the service a known length, chunks, or until the end.
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

  /// The direction of its stream from the client.
  enum Input: UInt8 {
    case free
    case takes
    case ended
  }

  /// The direction of its stream to the client: what is owed, and what was sent.
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
  /// Digits of the size of a chunk.
  var digits: UInt8 = 0
  var input = Input.free
  var output = Output.sends
  /// The number of the request, and of its stream.
  var number: UInt8 = 0
  var flags = Flags()
  /// Bytes that the client takes, and that it may send.
  var credit: UInt16 = 0
  var granted: UInt16 = 0
  /// Bytes that were read and not used, and how many of them the service is told.
  var stagedFrom: UInt16 = 0
  var stagedTo: UInt16 = 0
  var offered: UInt16 = 0
  /// The status of an answer that the kit gives, or 0.
  var status: UInt16 = 0
  /// Bytes of the head in use, the beginning of the line that arrives, and all bytes of a head or of a line with dropped ones.
  var headCount: UInt16 = 0
  var lineStart: UInt16 = 0
  var headSize: UInt16 = 0
  /// Bytes that are missing of the request's body or of its chunk, and of the answer's body.
  var bodyLeft: UInt32 = 0
  var contentLeft: UInt32 = 0
  /// Bytes of an answer that the kit sends by itself.
  var content: UnsafePointer<UInt8>?
  var staged: Sizes.Staged = .init(repeating: 0)
  var head: Sizes.Head = .init(repeating: 0)

  /// The properties of a request.
  struct Flags {
    var hasLength = false
    var hasChunks = false
    var hasHost = false
    var expectsContinue = false
    /// The answer is the last of its session or stream.
    var closes = false
    /// HTTP/1.0.
    var isOld = false
    /// The answer has no body.
    var hasNoBody = false
    /// The line that arrives does not fit.
    var isTooLong = false
    /// The client's direction has ended behind the request.
    var isHalf = false
    /// An answer had no room.
    var wantsRoom = false
  }

  /// The next request begins.
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

  mutating func isStagedUsed() -> Bool { stagedFrom == stagedTo }

  mutating func takeStaged() -> UInt8 {
    defer { stagedFrom &+= 1 }
    return staged[Int(stagedFrom)]
  }

  /// Whether the answer has begun and is not complete.
  mutating func isAnswering() -> Bool {
    answer.rawValue >= Answer.content.rawValue && answer.rawValue < Answer.answered.rawValue
  }

  /// Whether the head of an answer may be written in this step. Without streams nothing else has used its room up at the end of the body.
  mutating func mayAnswer() -> Bool {
    if Sizes.streams > 0, state == .bodyDone, answer == .unanswered { return true }
    return state == .headDone || (state == .refused && (answer == .noRequest || answer == .unanswered))
  }
}
