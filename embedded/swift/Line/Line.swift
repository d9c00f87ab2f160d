/// An end of a line: docs/wire-protocol.md. It allocates no memory. Received bytes may have any content.
///
/// The owner passes received bytes and the time, and sends the frame that `output` has written. Times come from a clock of milliseconds
/// that may wrap. docs/firmware.md has the rules for the main loop. An end does nothing before `start`. Its initial value is all zeros, so
/// a global variable takes no flash.
struct Line: ~Copyable {
  var session = Session()
  private var frame = OutgoingFrame()
  private(set) var corrected = CorrectedFrame()
  /// The bytes since the latest zero.
  private var run: Sizes.Run = .init(repeating: 0)
  private(set) var runCount = 0

  /// The result of `deadline` if no timer runs.
  static var never: UInt32 { .max }
  /// The milliseconds of bytes in the driver below which the next frame is handed to it.
  private static var waiting: UInt32 { 4 }
  /// The milliseconds that the rest of a frame with correction may take.
  private static var partialFrame: UInt32 { 200 }

  /// Starts the end, or restarts it. It works in place, because an initializer might put these values on the stack.
  /// - Parameters:
  /// - random: the incarnation of a listener, a new number at each start of the program. A dialer does not use it.
  /// - baud: the rate at 8N1 to pace frames by; 0 if the driver sets the pace.
  mutating func start(_ role: Session.Role, random: UInt32, baud: UInt32, now: Moment) {
    session.start(role, random: random, baud: baud, now: now)
    corrected.start()
    runCount = 0
  }

  // MARK: - Owner

  mutating func open(random: UInt32, now: Moment) -> Bool { session.open(random: random, now) }

  mutating func write(_ bytes: Span<UInt8>) -> Int { session.write(bytes) }

  /// Returns how many bytes `write` would take.
  mutating func room() -> Int { session.room() }

  /// Copies bytes of the stream, in order, to the positions from `start` on. Returns their number.
  mutating func read(into bytes: inout MutableSpan<UInt8>, from start: Int, atMost count: Int) -> Int {
    session.read(into: &bytes, from: start, atMost: count)
  }

  /// Whether the last byte of the peer was read.
  mutating func hasEnded() -> Bool {
    session.settleReading()
    return session.receiving.isRead
  }

  /// The number of bytes that were written and not sent, rounded up to units.
  var unsent: Int { session.sending.unsent }

  /// Ends the sending direction after the written bytes.
  mutating func finish() { session.finish() }

  /// Closes the session. It ends 5 s later at the latest.
  mutating func leave(now: Moment) { session.leave(now) }

  /// Ends the session at once with a RESET.
  mutating func abort() { session.abort() }

  // MARK: - Received bytes (section 1)

  mutating func receive(_ bytes: Span<UInt8>, now: Moment) {
    run(now: now)
    for index in 0..<bytes.count { take(bytes[unchecked: index], finds: true, now) }
  }

  /// - Parameter finds: whether a frame with correction may begin here.
  @inline(never)
  private mutating func take(_ byte: UInt8, finds: Bool, _ now: Moment) {
    if Sizes.strengths > 0, takeCorrected(byte, now) { return }
    if byte == 0 {
      endRun(now)
    } else if runCount <= Sizes.run {
      if runCount < Sizes.run { run[runCount] = byte }
      runCount &+= 1
    }
    if Sizes.strengths > 0, finds { findCorrected(now) }
  }

  /// Ends a run at a zero. The run may be a frame.
  private mutating func endRun(_ now: Moment) {
    let length = runCount
    runCount = 0
    if length == 0 { return }
    var isTaken = false
    if length <= Sizes.run, let count = decodeRun(length) {
      isTaken = session.take(run.span.extracting(0..<count), isCorrected: false, isCopy: false, now)
    }
    guard Sizes.strengths > 0 else { return }
    corrected.isBehindOpen = isTaken && run[0] == FrameKind.open.code
    session.countNoise(length &+ 1, wrong: 0)
    if !isTaken { corrected.noteDamage() }
  }

  private mutating func decodeRun(_ length: Int) -> Int? {
    var bytes = run.mutableSpan
    return Stuffing.decode(&bytes, count: length)
  }

  // MARK: - Frames with correction (section 7)

  /// Takes a byte of a frame with correction, or of its sync word or header. Returns false if the byte may be part of a run.
  private mutating func takeCorrected(_ byte: UInt8, _ now: Moment) -> Bool {
    guard corrected.isArriving else {
      corrected.slide(byte)
      ageDamage(isFound: false)
      return false
    }
    if !corrected.add(byte) {
      session.timers.start(.partialFrame, now + Self.partialFrame)
    } else if !complete(now) {
      // This is not in `complete`, which needs much of the stack.
      readAgain(now)
    }
    return true
  }

  private mutating func ageDamage(isFound: Bool) {
    if corrected.ageDamage(isFound: isFound) { session.countNoise(0, wrong: 1) }
  }

  @inline(never)
  private mutating func findCorrected(_ now: Moment) {
    let awaitsCopy = awaitsCopy(now)
    let wrong = corrected.find(seal: session.seal, isNamed: session.isNamed, awaitsCopy: awaitsCopy)
    guard let wrong else { return }
    session.timers.start(.partialFrame, now + Self.partialFrame)
    ageDamage(isFound: true)
    session.countNoise(CorrectedFrame.leadLength, wrong: wrong)
  }

  /// Whether a copy of HELLO or OPEN may arrive now.
  private mutating func awaitsCopy(_ now: Moment) -> Bool {
    guard Sizes.strengths >= 4 else { return false }
    if session.role == .dialing { return session.isOpening }
    return session.state == .none || corrected.isBehindOpen || now - session.noise.heard >= 1000
  }

  /// Decodes a complete frame with correction. Returns false if it is not valid.
  @inline(never)
  private mutating func complete(_ now: Moment) -> Bool {
    let header = corrected.header
    var changes = ReedSolomon.Changes()
    if let wrong = corrected.correct(&changes) {
      if session.take(corrected.bytes.extracting(0..<header.body), isCorrected: true, isCopy: header.isCopy, now) {
        corrected.end()
        session.timers.stop(.partialFrame)
        runCount = 0
        session.noise.countCorrected(wrong)
        session.countNoise(header.length, wrong: wrong)
        return true
      }
      corrected.undo(&changes)
    } else {
      session.countNoise(header.length, wrong: header.strength.wrong &+ 1)
    }
    if !header.isCopy { session.noise.countLost() }
    return false
  }

  /// Reads bytes again that were not a frame with correction.
  private mutating func readAgain(_ now: Moment) {
    let count = corrected.giveUp()
    session.timers.stop(.partialFrame)
    for index in 0..<count { take(corrected.byte(index), finds: count &- index <= 16, now) }
  }

  // MARK: - Frames to send

  /// Runs the timers, and writes the next frame to send. Call it when the driver can take a frame; otherwise call `run`.
  /// - Returns: the bytes of the frame on the wire, 0 if there is none. `withFrame` gives access to it.
  mutating func output(now: Moment) -> Int {
    run(now: now)
    if session.isGone || session.pacer.wire(now) - now >= Self.waiting { return 0 }
    let copy = session.takeCopy()
    var strength: Strength?
    if Sizes.strengths >= 4, copy != .none {
      frame.begin()
      session.putOpening(copy, to: &frame)
      strength = .ofOpenings
    } else {
      guard session.putOwed(to: &frame, now) else { return 0 }
      strength = session.strength(for: frame.kind, frame.count)
    }
    let isCopy = Sizes.strengths >= 4 && copy != .none
    if Sizes.strengths > 0, let strength {
      let sync = isCopy ? CorrectedFrame.syncOfOpenings : CorrectedFrame.sync(of: session.seal)
      frame.protect(strength, sync: sync, seal: session.seal)
      session.pacer.oweZero()
    } else {
      frame.stuff(seal: session.seal, needsZero: session.pacer.takeZero(now))
    }
    session.pacer.occupy(frame.wireCount, now)
    if !isCopy { session.noteHandedOver(frame.kind, now) }
    return frame.wireCount
  }

  /// Calls a function with the frame that `output` has written. The frame stays in place until the next `output`, so DMA can send it.
  mutating func withFrame<Result>(_ use: (Span<UInt8>) -> Result) -> Result { use(frame.wire) }

  // MARK: - Time

  /// Runs the timers.
  @inline(never)
  mutating func run(now: Moment) {
    session.pacer.noteSilence(now)
    var next: UInt8 = 0
    while let timer = session.timers.takeDue(from: next, at: now) {
      next = timer.rawValue &+ 1
      if timer == .partialFrame {
        if Sizes.strengths > 0 { readAgain(now) }
      } else {
        session.fire(timer, now)
      }
    }
    session.update(now)
  }

  /// Returns the milliseconds until the next call of `output` or `run`; `never` if no timer runs.
  mutating func deadline(now: Moment) -> UInt32 {
    var least = Self.never
    if session.owesFrame() {
      let waiting = session.pacer.wire(now) - now
      least = waiting < Self.waiting ? 0 : waiting &- Self.waiting &+ 1
    }
    return session.timers.firstDue(before: least, at: now)
  }

  // MARK: - The medium

  /// Handles the loss of the line, for example an unplugged cable.
  mutating func lose(now: Moment) {
    guard !session.isGone else { return }
    runCount = 0
    corrected.drop()
    if Sizes.strengths > 0 { session.timers.stop(.partialFrame) }
    session.lose(now)
  }

  /// Handles the return of the line.
  mutating func comeBack(now: Moment) {
    if session.isGone { session.comeBack(now) }
  }
}
