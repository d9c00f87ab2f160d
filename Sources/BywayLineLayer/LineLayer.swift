/// An end of a line. It makes a reliable stream of bytes from a line that damages, loses and interrupts them.
///
/// A state machine without I/O, clock or random numbers: bytes and times go in, events and bytes come out. Times are nanoseconds of a
/// monotonic clock. After each call that changes the state, write the bytes that ``room(at:)`` allows, call ``nextEvent()`` and
/// ``nextTransmit(at:into:)`` until they return nothing, and call ``handleTimeout(at:)`` at ``nextDeadline``. docs/wire-protocol.md
/// describes the protocol.
package struct LineLayer: Sendable {
  package enum Role: Equatable, Sendable {
    /// Begins sessions.
    case dialer
    /// Accepts sessions. `incarnation` is a random number that is new at each start of the program; 0 counts as 1.
    case listener(incarnation: UInt32)
  }

  /// The number of ended sessions that are remembered, so that a late frame does not start one of them again.
  private static let rememberedSessions = 16

  package let role: Role
  package let configuration: LineLayerConfiguration

  // The line.
  var reader: LineReader
  var noiseMeter = NoiseMeter()
  var codec = ReedSolomon()
  var pacer: Pacer
  var roundTrip = RoundTrip(frame: nil)
  var sizer = FrameSizer()
  var counters = LineStatistics()
  /// Damaged runs that a listener has received since the latest frame of its session. They may come from another program, such as the
  /// doctor at another rate, and count only when the session continues.
  var doubtfulDamage: UInt64 = 0
  var isLineUp = true
  var lineLostAt: UInt64?
  /// Whether the next frame needs a zero before it.
  var needsDelimiter = true
  var lastTransmitAt: UInt64 = 0
  /// Whether to tell the owner when the line can take more.
  var wakesWhenReady = false

  // Sessions.
  /// The incarnation of this listener, or of the peer as a dialer knows it; 0 if it does not.
  var incarnation: UInt32
  /// The abilities of the listener, as a dialer knows them.
  var listenerAbilities = Abilities.unknown
  var session: Session?
  var ended: [(id: SessionID, reason: ResetReason)] = []

  // Queued frames and events.
  var control = Queue<Frame>()
  /// The bytes of frames without correction since the latest damaged run or corrected frame.
  var intactBytes = 0
  /// The latest frame, if it was HELLO or OPEN.
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
    if role != .dialer { queueHello() }
  }

  /// Whether the first frames of a session have correction, if the peer supports it.
  var guardsBeginnings: Bool { pacer.isPacing && configuration.correction > 0 }

  // MARK: Sessions

  /// Begins a session. Call it only for a dialer without a session.
  /// - Parameters:
  ///   - session: a random number.
  /// - streams: the streams that this end accepts, if the listener accepts some too.
  package mutating func open(session id: UInt32, streams: StreamOffer = .none, at now: UInt64) {
    guard role == .dialer, session == nil else { return }
    var session = Session(
      SessionID(session: id, incarnation: incarnation), window: configuration.window,
      peerWindow: LineLayerConfiguration.leastWindow / Unit.size, peer: listenerAbilities, guards: guardsBeginnings,
      at: now)
    session.questions.needsOpen = true
    session.ownStreams = streams
    self.session = session
    if session.isReady { becomeReady() }
  }

  /// Makes the session ready: data can be sent, and frames of the session can arrive.
  mutating func becomeReady() {
    if configuration.correction > 0, let session { reader.sync = CorrectableFrame.sync(of: session.id) }
    events.append(.ready)
  }

  /// Ends the sending direction after the data that was written.
  package mutating func finish() {
    guard session?.sender.finish == .notWanted else { return }
    session?.sender.finish = .wanted
  }

  /// Closes the session. Written data is still sent as long as the peer takes it. Further data of the peer is dropped.
  package mutating func close(at now: UInt64) {
    finish()
    if session?.sender.leavingSince == nil { session?.sender.leavingSince = now }
  }

  /// Ends the session at once with a RESET.
  package mutating func abort(at now: UInt64) {
    end(.abortedHere, telling: .aborted)
  }

  /// Ends the session whenever its line is interrupted, unless the peer lacks some of the first bytes.
  /// - Parameter count: the number of these bytes.
  package mutating func forgo(after count: UInt64) {
    session?.sender.worth = count
    endIfExpendable()
  }

  package var hasSession: Bool { session != nil }

  /// The streams of the session, from ``LineLayerEvent/ready`` on; `nil` if it has only one.
  package var streams: StreamAgreement? { session?.streams }

  /// The interruption that the session is in; `nil` if there is none.
  package var interruption: Interruption? { session?.interruption }

  // MARK: The stream

  /// Returns how many bytes to write now so that the next frame has its best size; 0 while the line is busy. Data is taken as late as
  /// possible, so that the owner can choose the most urgent.
  package func room(at now: UInt64) -> Int {
    guard isLineUp, let session, session.isReady, !session.questions.isHolding, session.sender.finish == .notWanted,
      !session.sender.frames.hasLost,
      session.sender.pending.count < payloadSize(for: session, isCorrectable: session.sender.corrector.isOn),
      session.sender.frames.units + session.sender.pending.count / Unit.size < session.sender.peerWindow,
      session.sender.frames.count < SendWindow.mostFrames, now >= pacer.readyAt
    else { return 0 }
    return quantum - session.sender.pending.count
  }

  /// Takes bytes to send. Bytes beyond ``room(at:)`` are queued here, and more urgent data cannot overtake them.
  package mutating func send(_ bytes: UnsafeRawBufferPointer) {
    guard session?.sender.finish == .notWanted else { return }
    session?.sender.pending.append(bytes)
  }

  package mutating func send(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { send($0) }
  }

  /// Requests ``LineLayerEvent/passed(_:)`` for the time when these bytes of the stream have arrived at the peer.
  /// - Parameter bytes: a range of written bytes, counted from the beginning of the session; it begins after earlier ranges began.
  package mutating func follow(_ bytes: Range<UInt64>) {
    session?.sender.frames.passages.follow(bytes)
  }

  /// The time at which the peer began to send the latest data, as far as the model of the line knows: its arrival, less its time on the
  /// wire and half a round trip.
  package var latestArrivalBegan: UInt64? { session?.receiver.arrivalBegan }

  /// The bytes that were written and not sent yet.
  package var pendingBytes: Int { session?.sender.pending.count ?? 0 }

  /// Notes that the reader has processed this many bytes of ``LineLayerEvent/received(_:)``.
  package mutating func consumed(_ count: Int, at now: UInt64) {
    guard session != nil else { return }
    session?.receiver.units.consumed(count)
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
      statistics.correctableErrors = session.sender.corrector.errors
      statistics.framePayload = payloadSize(for: session, isCorrectable: session.sender.corrector.isOn)
    }
    return statistics
  }

  // MARK: Ending

  /// Ends the session, reports it to the owner, and to the peer if there is a reason.
  mutating func end(_ reason: SessionEnd, telling reset: ResetReason?) {
    guard let session else { return }
    settleDamage()
    // The statistics still show the strength after the end of the session.
    counters.correctableErrors = session.sender.corrector.errors
    self.session = nil
    reader.sync = nil
    // The noise is measured for each session.
    noiseMeter = NoiseMeter()
    // After such a silence the listener may be another one. The next session begins with a question, and sends no data before the answer.
    if role == .dialer, reason == .silence || reason == .lineLost { incarnation = 0 }
    if session.isReady {
      ended.append((session.id, reset ?? (reason == .finished ? .finished : .aborted)))
      if ended.count > Self.rememberedSessions { ended.removeFirst() }
    }
    if let reset { queue(.reset(session: session.id.session, reason: reset)) }
    events.append(.ended(reason))
  }

  /// Queues a frame that belongs to no stream. The queue has a limit, because a peer can cause these frames.
  mutating func queue(_ frame: Frame) {
    if control.count < 8 { control.append(frame) }
  }

  /// - Parameter peer: the abilities of the dialer to answer.
  mutating func queueHello(to peer: Abilities? = nil) {
    repeatsHello = Self.correctsOpenings(peer?.correction ?? 0)
    queue(
      .hello(
        version: FrameCodec.version, incarnation: incarnation,
        largestPayload: UInt16(truncatingIfNeeded: configuration.largestPayload),
        correction: UInt8(configuration.correction), streams: configuration.streams))
  }

  /// Whether an end that supports this many strengths looks for HELLO and OPEN with correction.
  static func correctsOpenings(_ correction: Int) -> Bool { correction > Strength.ofOpenings.index }

  // MARK: Sizes

  /// The number of bytes for one new frame.
  var quantum: Int {
    guard let bytes = pacer.largestFrame else { return 16_384 }
    return max(bytes - FrameCodec.dataOverhead - bytes / 254, LineLayerConfiguration.leastPayload)
  }

  /// Returns the size limits of frames to the peer.
  func room(for payload: Int) -> Corrector.Room {
    Corrector.Room(frame: quantum + FrameCodec.dataOverhead, payload: payload)
  }

  func payloadSize(for session: Session, isCorrectable: Bool) -> Int {
    if isCorrectable { return session.sender.corrector.payload(room(for: session.sender.peerLargestPayload)) }
    return min(sizer.payload, quantum, session.sender.peerLargestPayload)
  }
}
