/// One end of a line. It makes a reliable stream of bytes out of a line that damages, loses and interrupts them.
///
/// A value without I/O, clock or randomness: bytes and times go in, events and bytes come out. Times are nanoseconds of any
/// clock that does not go back. After each call that changes something, fill ``room(at:)``, take ``nextEvent()`` and ``nextTransmit(at:into:)``
/// until there is no more, and call ``handleTimeout(at:)`` at ``nextDeadline``. docs/wire-protocol.md describes the protocol.
package struct LineLayer: Sendable {
  package enum Role: Equatable, Sendable {
    /// Begins sessions.
    case dialer
    /// Waits for them. `incarnation` is a random number, another one at each start of the program; 0 counts as 1.
    case listener(incarnation: UInt32)
  }

  /// Sessions that are over, so that nothing of them starts over.
  private static let rememberedSessions = 16

  package let role: Role
  package let configuration: LineLayerConfiguration

  // The line.
  var reader: LineReader
  var ear = Ear()
  var codec = ReedSolomon()
  var pacer: Pacer
  var roundTrip = RoundTrip(frame: nil)
  var sizer = FrameSizer()
  var counters = LineStatistics()
  /// Damaged runs that a listener has heard since the last frame of its session. Another program may have sent them, for example the
  /// doctor, which tries the rates of the line: they count when the session goes on.
  var doubtfulDamage: UInt64 = 0
  var isLineUp = true
  var lineLostAt: UInt64?
  /// The next frame follows something that may not have ended in a delimiter.
  var needsDelimiter = true
  var lastTransmitAt: UInt64 = 0
  /// The owner has yet to be told that the line takes more.
  var wakesWhenReady = false

  // Sessions.
  /// A listener's own; a dialer's idea of the listener's, 0 for none.
  var incarnation: UInt32
  /// The abilities of that listener, as far as a dialer knows them.
  var listenerAbilities = Abilities.unknown
  var session: Session?
  var ended: [(id: SessionID, reason: ResetReason)] = []

  // Frames and events that wait.
  var control = Queue<Frame>()
  /// Bytes of frames without correction since a run was damaged or a frame corrected.
  var intactBytes = 0
  /// HELLO or OPEN as it came last, if nothing came after it.
  var latestOpening: Frame?
  /// Whether a copy with correction follows the next HELLO.
  var repeatsHello = false
  var events = Queue<LineLayerEvent>()
  var scratch: [UInt8] = []

  package init(_ role: Role, configuration: LineLayerConfiguration, at now: UInt64) {
    self.role = role
    self.configuration = configuration
    reader = LineReader(
      largestBody: FrameCodec.largestBody(payload: configuration.largestPayload), correction: configuration.correction)
    pacer = Pacer(bytesPerSecond: configuration.bytesPerSecond)
    incarnation = if case .listener(let incarnation) = role { max(incarnation, 1) } else { 0 }
    if pacer.isPacing { roundTrip = RoundTrip(frame: pacer.time(of: quantum + FrameCodec.dataOverhead)) }
    if role != .dialer { sayHello() }
  }

  /// Whether the first frames of a session bear correction, if the other end mends them.
  var guardsBeginnings: Bool { pacer.isPacing && configuration.correction > 0 }

  // MARK: Sessions

  /// Begins a session. For a dialer that has none.
  /// - Parameters:
  ///   - session: a random number.
  ///   - streams: the streams that this end takes, if the listener takes some too.
  package mutating func open(session id: UInt32, streams: StreamOffer = .none, at now: UInt64) {
    guard role == .dialer, session == nil else { return }
    var session = Session(
      SessionID(session: id, incarnation: incarnation), window: configuration.window,
      peerWindow: LineLayerConfiguration.leastWindow / Unit.size, peer: listenerAbilities, guards: guardsBeginnings,
      at: now)
    session.asking.needsOpen = true
    session.ownStreams = streams
    self.session = session
    if session.isReady { becomeReady() }
  }

  /// Data of the session can be sent, and its frames can come.
  mutating func becomeReady() {
    if configuration.correction > 0, let session { reader.sync = CorrectableFrame.sync(of: session.id) }
    events.append(.ready)
  }

  /// Ends the sending direction once all of it is sent.
  package mutating func finish() {
    guard session?.sending.finish == .notWanted else { return }
    session?.sending.finish = .wanted
  }

  /// Leaves the session. The data that was taken is sent for as long as the other end takes it. Further data of the other end is not
  /// waited for.
  package mutating func close(at now: UInt64) {
    finish()
    if session?.sending.leavingSince == nil { session?.sending.leavingSince = now }
  }

  /// Gives the session up at once, and tells the other end.
  package mutating func abort(at now: UInt64) {
    end(.abortedHere, telling: .aborted)
  }

  /// Ends the session at once whenever its line is interrupted, unless the other end still lacks some of its first bytes.
  /// - Parameter count: the number of those bytes.
  package mutating func forgo(after count: UInt64) {
    session?.sending.worth = count
    endIfExpendable()
  }

  package var hasSession: Bool { session != nil }

  /// The streams of the session, from ``LineLayerEvent/ready`` on; `nil` if it is one stream of bytes.
  package var streams: StreamAgreement? { session?.streams }

  /// The interruption that the session waits out; `nil` while there is none.
  package var interruption: Interruption? { session?.interruption }

  // MARK: The stream

  /// How many bytes it would be good to have now, so that the next frame is as large as it should be; 0 while the line is
  /// busy. They are asked for as late as possible, so that what is sent is what matters most at that moment.
  package func room(at now: UInt64) -> Int {
    guard isLineUp, let session, session.isReady, !session.asking.isHolding, session.sending.finish == .notWanted,
      !session.sending.frames.hasLost,
      session.sending.pending.count < payloadSize(for: session, isCorrectable: session.sending.corrector.isOn),
      session.sending.frames.units + session.sending.pending.count / Unit.size < session.sending.peerWindow,
      session.sending.frames.count < SendWindow.mostFrames, now >= pacer.readyAt
    else { return 0 }
    return quantum - session.sending.pending.count
  }

  /// Takes bytes to send. More than ``room(at:)`` is kept, but waits in here, where nothing can overtake it.
  package mutating func send(_ bytes: UnsafeRawBufferPointer) {
    guard session?.sending.finish == .notWanted else { return }
    session?.sending.pending.append(bytes)
  }

  package mutating func send(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { send($0) }
  }

  /// Asks for ``LineLayerEvent/passed(_:)``, once these bytes of the stream have arrived at the other end.
  /// - Parameter bytes: that were given to ``send(_:)``, counted from the session's first; behind those that were named before.
  package mutating func follow(_ bytes: Range<UInt64>) {
    session?.sending.frames.passages.follow(bytes)
  }

  /// When the other end began to send what came last, as far as the model of the wire knows: the frame's own time on it and
  /// half a round trip before it was here.
  package var latestArrivalBegan: UInt64? { session?.receiving.arrivalBegan }

  /// Bytes that were taken and not yet sent once.
  package var pendingBytes: Int { session?.sending.pending.count ?? 0 }

  /// The reader has dealt with that many bytes of ``LineLayerEvent/received(_:)``.
  package mutating func consumed(_ count: Int, at now: UInt64) {
    guard session != nil else { return }
    session?.receiving.units.consumed(count)
    offerMore(at: now)
  }

  package mutating func nextEvent() -> LineLayerEvent? { events.popFirst() }

  package var statistics: LineStatistics {
    var statistics = counters
    statistics.foreignBytes += reader.deframer.skippedBytes
    statistics.roundTrip = roundTrip.smoothed
    statistics.rate = pacer.carriedRate
    statistics.nominalRate = configuration.bytesPerSecond
    statistics.framePayload = sizer.payload
    if let session {
      statistics.correctableErrors = session.sending.corrector.errors
      statistics.framePayload = payloadSize(for: session, isCorrectable: session.sending.corrector.isOn)
    }
    return statistics
  }

  // MARK: Ending

  /// The session is over: says so upwards, and where a reason is given, to the other end.
  mutating func end(_ reason: SessionEnd, telling reset: ResetReason?) {
    guard let session else { return }
    settleDamage()
    // Who tells of the session when it is over wants to know.
    counters.correctableErrors = session.sending.corrector.errors
    self.session = nil
    reader.sync = nil
    // Each session tells of its own noise.
    ear = Ear()
    // A listener that was not heard for so long may be another one by now: the next session asks first, and commits
    // nothing to one that may not be there.
    if role == .dialer, reason == .silence || reason == .lineLost { incarnation = 0 }
    if session.isReady {
      ended.append((session.id, reset ?? (reason == .finished ? .finished : .aborted)))
      if ended.count > Self.rememberedSessions { ended.removeFirst() }
    }
    if let reset { say(.reset(session: session.id.session, reason: reset)) }
    events.append(.ended(reason))
  }

  /// Queues a frame that stands outside of the stream. As few as a peer can make us owe.
  mutating func say(_ frame: Frame) {
    if control.count < 8 { control.append(frame) }
  }

  /// - Parameter peer: that of the dialer which is answered.
  mutating func sayHello(to peer: Abilities? = nil) {
    repeatsHello = Self.mendsOpenings(peer?.correction ?? 0)
    say(
      .hello(
        version: FrameCodec.version, incarnation: incarnation,
        largestPayload: UInt16(truncatingIfNeeded: configuration.largestPayload),
        correction: UInt8(configuration.correction), streams: configuration.streams))
  }

  /// Whether an end with so many strengths finds HELLO and OPEN that bear correction.
  static func mendsOpenings(_ correction: Int) -> Bool { correction > Strength.ofOpenings.index }

  // MARK: Sizes

  /// Bytes that are cut from the owner's stream at a time.
  var quantum: Int {
    guard let bytes = pacer.largestFrame else { return 16_384 }
    return max(bytes - FrameCodec.dataOverhead - bytes / 254, LineLayerConfiguration.leastPayload)
  }

  /// Returns the limits of frames to the other end of the session.
  func room(for payload: Int) -> Corrector.Room {
    Corrector.Room(frame: quantum + FrameCodec.dataOverhead, payload: payload)
  }

  func payloadSize(for session: Session, isCorrectable: Bool) -> Int {
    if isCorrectable { return session.sending.corrector.payload(room(for: session.sending.peerLargestPayload)) }
    return min(sizer.payload, quantum, session.sending.peerLargestPayload)
  }
}
