/// The state of an end and of its session: sections 2 to 6, 8 and 10 of docs/wire-protocol.md.
///
/// It processes bodies of received frames, and writes bodies to send. Functions are `mutating` because a call that only reads might copy
/// its windows.
struct Session: ~Copyable {
  enum Role: UInt8 {
    case listening
    case dialing
  }

  /// The states of section 8. A listener is in `none` or `open`.
  enum State: UInt8 {
    case none
    case asking
    case opening
    case open
  }

  private(set) var role = Role.listening
  var state = State.none
  var owed = Owed.none
  /// The reason for the end of the last session.
  var reason = EndReason.finished
  /// The number of sessions that began, modulo 256.
  var sessions: UInt8 = 0
  /// Whether the line is lost.
  var isGone = false
  /// The frame whose copy must follow: HELLO or OPEN.
  var copy = FrameKind.none
  /// The number of questions since the latest received frame of the session.
  var questions: UInt8 = 0
  /// Whether a question was not answered yet.
  var isUnanswered = false
  /// Whether DATA waits until something is received.
  var isHeld = false
  /// Whether the owner has closed the session.
  var isLeaving = false
  /// The POLL to answer, and the time of its arrival.
  var pollToken: UInt8 = 0
  var pollTime = Moment(milliseconds: 0)
  /// Whether the last acknowledgement covered the whole stream.
  var hasToldEnd = false
  /// The number of DATA frames since the last acknowledgement.
  var dataFrames: UInt8 = 0
  /// The limits that the peer has announced.
  var peerCorrection: UInt8 = 0
  var peerPayload: UInt16 = 0
  /// The streams of the session, 0 if it has only one, and the initial credit of the peer for each in units of 64 bytes.
  var streams: UInt8 = 0
  var peerCredit: UInt8 = 0

  var session: UInt32 = 0
  var incarnation: UInt32 = 0
  /// The state of a checksum over session and incarnation.
  var seal: UInt32 = 0
  /// The check of the latest frame. A copy of that frame is ignored.
  var lastCheck: UInt32 = 0
  var resets = Resets()
  var timers = Timers()
  var pacer = Pacer()
  var roundTrip = RoundTrip()
  var ended = EndedSessions()
  var noise = NoiseMeter()
  var receiving = ReceiveWindow()
  var sending = SendWindow()

  /// Starts the end.
  /// - Parameter random: the incarnation of a listener, a new number at each start of the program, not 0 (section 2).
  mutating func start(_ role: Role, random: UInt32, baud: UInt32, now: Moment) {
    self.role = role
    pacer.start(baud: baud, now)
    state = .none
    reason = .finished
    sessions = 0
    isGone = false
    copy = .none
    questions = 0
    isUnanswered = false
    isHeld = false
    isLeaving = false
    peerCorrection = 0
    peerPayload = 0
    streams = 0
    peerCredit = 0
    session = 0
    seal = 0
    lastCheck = 0
    resets = Resets()
    timers.stopAll()
    ended.removeAll()
    roundTrip = RoundTrip()
    noise.start()
    receiving.begin()
    sending.start()
    incarnation = role == .dialing ? 0 : max(random, 1)
    owed = role == .dialing ? .none : .hello
  }

  /// The limits of sections 2, 3 and 6. Times are in milliseconds.
  enum Limit {
    static var acknowledgementDelay: UInt32 { 10 }
    static var question: UInt32 { 1000 }
    static var openingQuestion: UInt32 { 300 }
    static var closedWindow: UInt32 { 1000 }
    static var silentTransfer: UInt32 { 1000 }
    static var dialersKeepalive: UInt32 { 10_000 }
    static var listenersKeepalive: UInt32 { 25_000 }
    static var patience: UInt32 { 30_000 }
    static var openingPatience: UInt32 { 5000 }
    static var closing: UInt32 { 5000 }
    static var grace: UInt32 { 30_000 }
    static var longFrame: UInt32 { 30 }
    /// The number of unanswered questions from which on no DATA is sent.
    static var questionsBeforeHold: UInt8 { 2 }
  }

  static var version: UInt8 { 1 }

  var isOpening: Bool { state == .asking || state == .opening }
  var isConfirmed: Bool { state == .open }
  /// Whether the seal of the session is known.
  var isNamed: Bool { state == .opening || state == .open }

  // MARK: - Begin and end of a session (section 3)

  /// Sets the session and incarnation for the seal and the sync word.
  mutating func setSeal() {
    var checksum = Checksum()
    checksum.add(session)
    checksum.add(incarnation)
    seal = checksum.state
  }

  /// Begins a session, except for its seal.
  mutating func begin(_ session: UInt32, _ now: Moment) {
    self.session = session
    sessions &+= 1
    questions = 0
    isUnanswered = false
    isHeld = false
    isLeaving = false
    hasToldEnd = false
    dataFrames = 0
    receiving.begin()
    sending.begin()
    roundTrip.begin(pacer: pacer)
    noise.begin(isPaced: pacer.isPaced, now)
  }

  /// Begins a session of a dialer with a random number. Returns false if there is a session.
  mutating func open(random: UInt32, _ now: Moment) -> Bool {
    guard role == .dialing, state == .none else { return false }
    begin(random, now)
    state = incarnation == 0 ? .asking : .opening
    setSeal()
    ask(now)
    return true
  }

  /// Ends the session.
  /// - Parameter told: the reason in the answer to a later POLL of this session.
  @inline(never)
  mutating func end(_ reason: EndReason, told: EndReason) {
    ended.add(session, told)
    state = .none
    self.reason = reason
    owed.keepOnly(.withoutSession)
    timers.endSession()
    questions = 0
    isUnanswered = false
    sending.endSession()
    if role == .dialing, reason == .silence || reason == .gone { incarnation = 0 }
  }

  /// Ends the session with a RESET.
  mutating func endWithReset(_ reason: EndReason) {
    oweReset(session, reason)
    end(reason, told: reason)
  }

  mutating func endIfFinished() {
    if hasToldEnd, sending.isDone { end(.finished, told: .finished) }
  }

  mutating func oweReset(_ session: UInt32, _ reason: EndReason) {
    if resets.add(session, reason) { owed.insert(.reset) }
  }

  // MARK: - Functions for the owner

  mutating func write(_ bytes: Span<UInt8>) -> Int { state == .none ? 0 : sending.write(bytes) }

  mutating func room() -> Int { state == .none ? 0 : sending.room() }

  mutating func read(into bytes: inout MutableSpan<UInt8>, from start: Int, atMost count: Int) -> Int {
    if isLeaving { receiving.drop() }
    let count = receiving.read(into: &bytes, from: start, atMost: count)
    oweWindow()
    return count
  }

  /// Frees the empty last unit.
  mutating func settleReading() {
    receiving.free()
    oweWindow()
  }

  private mutating func oweWindow() {
    if isConfirmed, receiving.owesWindow { oweAcknowledgement() }
  }

  mutating func finish() {
    if state != .none { sending.finish() }
  }

  mutating func leave(_ now: Moment) {
    guard state != .none, !isLeaving else { return }
    isLeaving = true
    sending.finish()
    timers.start(.closing, now + Limit.closing)
  }

  mutating func abort() {
    if state != .none { endWithReset(.aborted) }
  }

  // MARK: - The line

  mutating func lose(_ now: Moment) {
    isGone = true
    owed.remove(.withoutSession)
    copy = .none
    resets = Resets()
    guard state != .none else { return }
    isHeld = true
    timers.start(.grace, now + Limit.grace)
    timers.stop(.question)
    if sending.isUnacknowledged || !isConfirmed {
      timers.stop(.patience)
      timers.stop(.closing)
    }
  }

  mutating func comeBack(_ now: Moment) {
    isGone = false
    pacer.comeBack(now)
    timers.stop(.grace)
    if state != .none {
      timers.stop(.patience)
      if isLeaving { timers.start(.closing, now + Limit.closing) }
      ask(now)
    } else if role == .listening {
      owed.insert(.hello)
    }
  }
}
