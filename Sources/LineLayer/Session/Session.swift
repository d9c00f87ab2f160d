/// One session over a line: both directions of a stream, and the frames that are due.
struct Session {
  /// The owner's wish to end the stream, and how far it has got.
  enum Finish {
    case notWanted, wanted, sent
  }

  /// A poll whose answer has not come.
  struct Poll {
    let token: UInt8
    let order: UInt64
    let sentAt: UInt64
    /// The time that the answer may take besides the round trip.
    let expectedWait: UInt64
    let wasAtRest: Bool
  }

  /// How far both ends have come, as section 8 of docs/wire-protocol.md names it. To a listener every session is open.
  enum Phase {
    /// The listener is not known.
    case asking
    /// It is, but has not proved that it knows the session.
    case opening
    case open
  }

  var id: SessionID
  var phase: Phase

  // MARK: Sending

  var send = SendWindow()
  var pending = PendingBytes()
  var finish = Finish.notWanted
  /// The owner has left: since then, or since the latest news of what it had sent.
  var leavingSince: UInt64?
  /// Bytes from the beginning of the stream that are worth waiting for an interrupted line; `nil`: all.
  var worth: UInt64?
  /// Units that the other end takes, from the first on that is not acknowledged.
  var peerWindow: Int
  private(set) var peerLargestPayload: Int
  /// The correction of frames to the peer.
  var corrector: Corrector

  // MARK: Receiving

  var receive: ReceiveWindow
  /// When the other end began to send what came last of the stream.
  var arrivalBegan: UInt64?
  var hasReportedFinish = false
  /// When an acknowledgement must go, if one is owed.
  var reportBy: UInt64?
  /// Frames that arrived since the last one.
  var unreported = 0
  private var reports: UInt = 0
  /// NOISE is to be sent.
  var needsNoise = false
  /// The unit of the stream that the peer may send up to, as it was last told.
  var toldLimit: UInt64 = 0
  /// The noise that was reported last; `nil` if none was.
  private var toldNoise: Noise?
  /// The poll to answer, and when it came.
  private(set) var answer: (token: UInt8, since: UInt64)?
  /// Polls since anything else was heard: the answers to those before are lost.
  private var questions = 0

  // MARK: Asking

  var needsOpen = false
  var needsPoll = false
  var polls: [Poll] = []
  var nextToken: UInt8 = 0
  /// Questions since something was heard.
  var unanswered = 0
  var waitingSince: UInt64?
  /// The time at which the line counts as interrupted, if nothing is heard until then.
  var silentAt: UInt64?
  /// DATA has arrived, and the peer was not heard to be at rest since.
  var isMidStream = false
  /// When to ask next, if nothing is heard.
  var askAt: UInt64?
  /// The time until which the question waits while a frame arrives.
  var askBy: UInt64 = 0
  var heardAt: UInt64
  var polledAt: UInt64 = 0
  /// When OPEN was sent last, and how often.
  var openedAt: UInt64?
  var opens = 0
  /// The interruption that the session waits out; `nil` while there is none.
  var interruption: Interruption?

  /// - Parameter guards: the first frames bear correction, as nothing is known of the line.
  init(_ id: SessionID, window: Int, peerWindow: Int, peer: Abilities, guards: Bool, at now: UInt64) {
    self.id = id
    phase = id.incarnation == 0 ? .asking : .opening
    self.peerWindow = peerWindow
    peerLargestPayload = peer.largestPayload
    corrector = Corrector(most: peer.correction, guards: guards)
    receive = ReceiveWindow(capacity: window)
    heardAt = now
  }

  /// Takes the abilities of the listener, which is known now.
  mutating func meet(_ peer: Abilities, guards: Bool) {
    peerLargestPayload = peer.largestPayload
    corrector = Corrector(most: peer.correction, guards: guards)
  }

  /// Data may be sealed: the listener's incarnation is known.
  var isReady: Bool { phase != .asking }

  /// The other end has proved that it knows the session.
  var isConfirmed: Bool { phase == .open }

  /// Whether nothing was received after two questions in a row. Data would only fill the queue of a line that is gone.
  var isHolding: Bool { unanswered >= 2 }

  var hasUnacknowledged: Bool { !send.isEmpty }
  /// Whether the window is closed. The acknowledgement that opened it may have been lost.
  var isBlocked: Bool { finish != .sent && send.units >= peerWindow }

  /// All that this end has to say is said and acknowledged, and all that it will hear is heard.
  var isComplete: Bool {
    finish == .sent && send.isEmpty && receive.isFinished && hasReportedFinish && reportBy == nil && answer == nil
  }

  /// Both ends have said all, if not yet heard all.
  var isEnding: Bool { finish == .sent && receive.isFinished }

  /// Only the other end's word that it has heard of the end is missing, which it may not live to send.
  var isLingering: Bool { isEnding && send.bytes == 0 }

  /// Whether nothing more is worth waiting for the line.
  var isExpendable: Bool { worth.map { send.delivered >= $0 } ?? false }

  /// The other end has every byte that was taken from the owner.
  var isDelivered: Bool { pending.isEmpty && send.bytes == 0 }

  /// The other end may soon have to wait for the window, and it has grown by enough to be worth a frame.
  func hasMoreToOffer(of capacity: Int) -> Bool {
    let quarter = UInt64(capacity / Unit.size / 4)
    return receive.limit >= toldLimit + quarter && toldLimit < receive.position + 2 * quarter
  }

  /// The poll that an answer names. Those before it will not be answered any more.
  mutating func takePoll(_ token: UInt8) -> Poll? {
    guard let index = polls.firstIndex(where: { $0.token == token }) else { return nil }
    let poll = polls[index]
    polls.removeFirst(index + 1)
    return poll
  }

  mutating func takeQuestion(_ token: UInt8, at now: UInt64) {
    answer = (token, now)
    questions += 1
  }

  /// The peer is not waiting for an answer, or not only.
  mutating func tookOther() {
    questions = 0
  }

  mutating func owe(by time: UInt64) {
    reportBy = min(reportBy ?? .max, time)
  }

  /// The length of the next report's list. An answer to a repeated question is ever shorter, because a short one that arrives is worth
  /// more than a long one that does not.
  var listLength: Int { Arrivals.longestList >> min(2 * max(questions - 1, 0), 8) }

  /// Notes the noise that is received now. It is reported if it differs enough from the last report.
  mutating func hear(_ noise: Noise) {
    let told = toldNoise ?? .none
    if abs(Int(noise.code) - Int(told.code)) >= 3 { needsNoise = true }
  }

  mutating func tell(_ noise: Noise) {
    toldNoise = noise
    needsNoise = false
  }

  /// Notes that a report was sent and all of the window offered. A noise level that was reported before is reported again behind an
  /// answer and at intervals, because it may have been lost.
  mutating func reported() {
    if toldNoise != nil, answer != nil || reports % 8 == 7 { needsNoise = true }
    answer = nil
    reportBy = nil
    unreported = 0
    reports &+= 1
    toldLimit = receive.limit
  }
}

/// Bytes that were taken from the owner and are not yet in a frame.
struct PendingBytes {
  private var bytes: [UInt8] = []
  private var head = 0

  var count: Int { bytes.count - head }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: more)
  }

  mutating func take(_ limit: Int) -> [UInt8] {
    let end = head + min(limit, count)
    let piece = Array(bytes[head..<end])
    head = end
    if head == bytes.count {
      bytes.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 65_536 {
      bytes.removeFirst(head)
      head = 0
    }
    return piece
  }
}
