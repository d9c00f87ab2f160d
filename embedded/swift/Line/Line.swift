/// An end of a line: docs/wire-protocol.md. It allocates no memory. Any received bytes are safe.
///
/// The owner passes received bytes and the time, and sends the frame that `output` has made. Times are those of a clock of milliseconds
/// that may wrap. docs/firmware.md has the rules for the main loop. An end does nothing until `start`. Its initial value is all zeros, so a
/// global variable takes no flash.
struct Line: ~Copyable {
  var session = Session()
  private var frame = OutgoingFrame()
  private(set) var corrected = CorrectedFrame()
  /// Bytes since the last zero.
  private var run: Sizes.Run = .init(repeating: 0)
  private(set) var runCount = 0

  /// The result of `deadline` if nothing is to be done until bytes arrive.
  static var never: UInt32 { .max }
  /// A frame is handed over when less than this waits in the driver.
  private static var waiting: UInt32 { 4 }
  /// How long the rest of a frame with correction may take.
  private static var partialFrame: UInt32 { 200 }

  /// Begins, or begins again, in place: an initializer with these values might be on the stack.
  /// - Parameters:
  ///   - random: a listener's incarnation: another number at each start of the program. A dialer does not use it.
  ///   - baud: the rate at 8N1 if frames shall be paced by it; 0 if the driver does that.
  mutating func start(_ role: Session.Role, random: UInt32, baud: UInt32, now: Moment) {
    session.start(role, random: random, baud: baud, now: now)
    corrected.start()
    runCount = 0
  }

  // MARK: - Owner

  mutating func open(random: UInt32, now: Moment) -> Bool { session.open(random: random, now) }

  mutating func write(_ bytes: Span<UInt8>) -> Int { session.write(bytes) }

  /// How many bytes `write` would take.
  mutating func room() -> Int { session.room() }

  /// Copies bytes of the stream, in order, to the place from `start` on. Returns how many.
  mutating func read(into bytes: inout MutableSpan<UInt8>, from start: Int, atMost count: Int) -> Int {
    session.read(into: &bytes, from: start, atMost: count)
  }

  /// Whether the peer's last byte has been read.
  mutating func hasEnded() -> Bool {
    session.settleReading()
    return session.receiving.isRead
  }

  /// About how many bytes were written and not sent yet.
  var unsent: Int { session.sending.unsent }

  /// The stream to the peer ends behind what was written.
  mutating func finish() { session.finish() }

  /// The owner wants nothing more of the session: it is over 5 s later at the latest.
  mutating func leave(now: Moment) { session.leave(now) }

  /// Ends the session at once. The peer learns that it did not get everything.
  mutating func abort() { session.abort() }

  // MARK: - Received bytes (section 1)

  mutating func receive(_ bytes: Span<UInt8>, now: Moment) {
    run(now: now)
    for index in 0..<bytes.count { take(bytes[unchecked: index], finds: true, now) }
  }

  /// - Parameter finds: a frame with correction may begin here.
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

  /// A zero ends a run, which may be a frame.
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

  /// Takes a byte of a frame with correction, or of its lead. Returns false if it may be part of a run.
  private mutating func takeCorrected(_ byte: UInt8, _ now: Moment) -> Bool {
    guard corrected.isArriving else {
      corrected.slide(byte)
      ageDamage(isFound: false)
      return false
    }
    if !corrected.add(byte) {
      session.timers.start(.partialFrame, now + Self.partialFrame)
    } else if !complete(now) {
      // Not within `complete`, which needs much of the stack.
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

  /// Whether the peer may send a copy of HELLO or OPEN now.
  private mutating func awaitsCopy(_ now: Moment) -> Bool {
    guard Sizes.strengths >= 4 else { return false }
    if session.role == .dialing { return session.isOpening }
    return session.state == .none || corrected.isBehindOpen || now - session.noise.heard >= 1000
  }

  /// The frame has all its bytes. Returns false if they are none.
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

  /// Reads the bytes of what is not a frame with correction once more.
  private mutating func readAgain(_ now: Moment) {
    let count = corrected.giveUp()
    session.timers.stop(.partialFrame)
    for index in 0..<count { take(corrected.byte(index), finds: count &- index <= 16, now) }
  }

  // MARK: - Frames to send

  /// Runs the timers, and makes the frame that is to be sent next. Call it when the driver can take a frame; otherwise call `run`.
  /// - Returns: how many bytes it has on the wire, 0 if there is none. `withFrame` has them.
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

  /// Calls a function with the frame that `output` has made. It stays at its place until the next `output`, so that DMA can send it.
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

  /// The milliseconds until the next call of `output` or `run`; `never` if there is nothing to do until bytes arrive.
  mutating func deadline(now: Moment) -> UInt32 {
    var least = Self.never
    if session.owesFrame() {
      let waiting = session.pacer.wire(now) - now
      least = waiting < Self.waiting ? 0 : waiting &- Self.waiting &+ 1
    }
    return session.timers.firstDue(before: least, at: now)
  }

  // MARK: - The medium

  /// The line is gone, for example unplugged.
  mutating func lose(now: Moment) {
    guard !session.isGone else { return }
    runCount = 0
    corrected.drop()
    if Sizes.strengths > 0 { session.timers.stop(.partialFrame) }
    session.lose(now)
  }

  /// The line is back.
  mutating func comeBack(now: Moment) {
    if session.isGone { session.comeBack(now) }
  }
}
