extension LineLayer {
  /// Takes bytes from the line, split anywhere.
  package mutating func receive(_ bytes: UnsafeRawBufferPointer, at now: UInt64) {
    counters.receivedBytes += UInt64(bytes.count)
    var start = 0
    while start < bytes.count {
      // Each frame may change which frames are expected after it.
      reader.looksForOpenings = looksForOpenings(at: now)
      reader.isResting = intactBytes >= Self.manyIntactBytes
      for arrival in reader.receive(bytes, from: &start, codec: &codec, at: now) {
        guard let (frame, answerLength) = frame(of: arrival, at: now) else { continue }
        counters.receivedFrames += 1
        handle(frame, answerLength: answerLength, at: now)
      }
    }
    if let session, session.isConfirmed {
      let noise = noise(for: session)
      self.session?.receiver.note(noise)
    }
    offerMore(at: now)
    endIfComplete()
  }

  /// Whether HELLO or OPEN with correction may come. It may not during a session, because the data of a stream may look like one.
  private func looksForOpenings(at now: UInt64) -> Bool {
    guard Self.correctsOpenings(configuration.correction) else { return false }
    // A copy follows each of them.
    if latestOpening != nil { return true }
    if role == .dialer { return session?.isConfirmed == false }
    guard let heardAt = session?.questions.heardAt else { return true }
    return now > heardAt + Self.doubtfulSilence
  }

  private static let doubtfulSilence: UInt64 = 1_000_000_000
  /// After this many intact bytes the peer does not need correction, and the search for frames with correction would cost processor time on
  /// a fast line. If one comes, it counts as damaged, and the next is found.
  private static let manyIntactBytes = 65_536

  /// Decodes a frame, and returns its length on the wire, which the measurement of an ANSWER needs.
  private mutating func frame(of arrival: LineReader.Arrival, at now: UInt64) -> (Frame, answerLength: Int)? {
    switch arrival {
    case .run(var run, let isLeftover):
      let length = run.count
      let said = ForeignText.isText(run) ? run : []
      // A frame may begin the session that the next frame belongs to.
      if let frame = FrameCodec.decode(&run, seal: session?.id) {
        noiseMeter.note(intact: length)
        intactBytes &+= length
        latestOpening = frame.isOpening ? frame : nil
        return (frame, FrameCodec.answerLength)
      }
      guard !isLeftover else { break }
      counters.foreignBytes += UInt64(length)
      if !said.isEmpty { counters.foreignText.add(said) }
      noteDamage(length)
    case .tooLong(let tail):
      if ForeignText.isText(tail) { counters.foreignText.add(tail) }
      noteDamage(reader.deframer.limit)
    case .corrected(let body, let errors, let length, let isOpening):
      guard let frame = FrameCodec.read(body, seal: session?.id), frame.mayHaveCorrection(asOpening: isOpening) else {
        noteDamage(length)
        break
      }
      noiseMeter.note(corrected: errors, of: length)
      intactBytes = 0
      counters.correctedBytes += UInt64(errors)
      // A copy of the frame before it.
      if isOpening, frame == latestOpening { break }
      latestOpening = nil
      return (frame, length)
    case .uncorrectable(let errors, let length):
      countDamage()
      noiseMeter.note(uncorrectable: errors, of: length)
      // The peer knows this level already, or its report was lost.
      if noiseMeter.noise == .beyondCorrection { session?.receiver.needsNoise = true }
    }
    return nil
  }

  private mutating func noteDamage(_ length: Int) {
    countDamage()
    intactBytes = 0
    noiseMeter.note(damaged: length)
  }

  private mutating func countDamage() {
    if role == .dialer { counters.damagedFrames += 1 } else { doubtfulDamage += 1 }
  }

  /// Counts the damaged runs that were in doubt.
  mutating func settleDamage() {
    counters.damagedFrames += doubtfulDamage
    doubtfulDamage = 0
  }

  package mutating func receive(_ bytes: [UInt8], at now: UInt64) {
    bytes.withUnsafeBytes { receive($0, at: now) }
  }

  private mutating func handle(_ frame: Frame, answerLength: Int, at now: UInt64) {
    switch frame {
    case .hello(let version, let incarnation, let largestPayload, let correction, let streams):
      let abilities = Abilities(largestPayload: largestPayload, correction: correction, streams: streams)
      handleHello(version: version, incarnation: incarnation, abilities, at: now)
    case .open(let version, let id, let largestPayload, let window, let correction, let streams):
      let abilities = Abilities(largestPayload: largestPayload, correction: correction, streams: streams)
      handleOpen(version: version, id: id, abilities, window: window, at: now)
    case .reset(let id, let reason):
      handleReset(id, reason)
    case .poll(let id, let token):
      handlePoll(id, token: token, at: now)
    case .acknowledgement(let report):
      handle(report, answerLength: answerLength, at: now)
    case .noise(let noise):
      heard(at: now)
      take(noise, at: now)
    case .data(let header, let payload):
      handle(header, payload: payload, at: now)
    }
  }

  /// Takes the noise that the peer reports.
  private mutating func take(_ noise: Noise, at now: UInt64) {
    guard let room = (session?.sender.peerLargestPayload).map(room) else { return }
    let isWeak = session?.sender.corrector.update(noise, plain: sizer, room, at: now)
    if isWeak == true { session?.sender.frames.excuseCorrectable() }
  }

  // MARK: Frames that name their session

  private mutating func handleHello(version: UInt8, incarnation: UInt32, _ abilities: Abilities, at now: UInt64) {
    guard role == .dialer, incarnation != 0 else {
      counters.refusedFrames += 1
      return
    }
    guard version == FrameCodec.version else { return end(.version(version), telling: nil) }
    let isNew = incarnation != self.incarnation
    self.incarnation = incarnation
    listenerAbilities = abilities
    guard var session else { return }
    if session.isReady {
      // The earlier listener may have processed this data, so it must not be sent to the new one.
      if isNew { end(.peerRestarted, telling: nil) }
      return
    }
    session.id.incarnation = incarnation
    session.phase = .opening
    session.peerStreams = abilities.streams
    session.sender.meet(abilities, guards: guardsBeginnings)
    session.questions.restartOpening()
    self.session = session
    becomeReady()
  }

  private mutating func handleOpen(
    version: UInt8, id: SessionID, _ abilities: Abilities, window: UInt16, at now: UInt64
  ) {
    guard role != .dialer else { return handleRival(id.session) }
    if session?.id != id { doubtfulDamage = 0 }
    guard version == FrameCodec.version else { return queue(.reset(session: id.session, reason: .version)) }
    // The OPEN is for an earlier incarnation, or asks for the current one: the dialer must repeat it for this one.
    guard id.incarnation == incarnation else { return queueHello(to: abilities) }
    if session?.id == id {
      session?.questions.heardAt = now
      session?.receiver.owe(by: now)
      return
    }
    if let past = ended.first(where: { $0.id == id }) { return queue(.reset(session: id.session, reason: past.reason)) }
    end(.peerRestarted, telling: nil)
    var session = Session(
      id, window: configuration.window, peerWindow: min(Int(window), Unit.largestWindow), peer: abilities,
      guards: guardsBeginnings, at: now)
    session.ownStreams = configuration.streams
    session.phase = .open
    session.receiver.owe(by: now)
    session.questions.needsPoll = pacer.isPacing
    self.session = session
    becomeReady()
    events.append(.confirmed)
  }

  /// Answers the OPEN of another dialer. That dialer may stop at the RESET, so this frame is the only sign of it.
  private mutating func handleRival(_ session: UInt32) {
    queue(.reset(session: session, reason: .bothDial))
    // If a listener has confirmed the session, the OPEN is old.
    guard let own = self.session, !own.isConfirmed else { return }
    // Two dialers do not choose the same random number.
    end(own.id.session == session ? .echo : .bothDial, telling: nil)
  }

  private mutating func handleReset(_ id: UInt32, _ reason: ResetReason) {
    guard let session, session.id.session == id else { return }
    switch reason {
    case .unknown where !session.isConfirmed: self.session?.questions.needsOpen = true
    case .unknown: end(.peerRestarted, telling: nil)
    case .finished: end(session.isEnding ? .finished : .aborted, telling: nil)
    case .version: end(.version(nil), telling: nil)
    case .bothDial: end(.bothDial, telling: nil)
    case .aborted, .silence: end(.aborted, telling: nil)
    }
  }

  private mutating func handlePoll(_ id: UInt32, token: UInt8, at now: UInt64) {
    guard let session, session.id.session == id else {
      let past = ended.last { $0.id.session == id }
      return queue(.reset(session: id, reason: past?.reason ?? .unknown))
    }
    // Before the listener is known, an answer cannot be sealed, and the peer cannot have sent a POLL.
    guard session.isReady else { return }
    self.session?.receiver.takeQuestion(token, at: now)
    heard(at: now)
    self.session?.questions.isMidStream = false
  }

  // MARK: Sealed frames

  private mutating func handle(_ report: Acknowledgement, answerLength: Int, at now: UInt64) {
    heard(at: now)
    self.session?.receiver.tookOther()
    let poll = report.answer.flatMap { session?.questions.takePoll($0.token) }
    guard let outcome = acknowledge(report.arrivals, of: poll, at: now) else { return }
    if !outcome.isOld { session?.sender.peerWindow = min(Int(report.window), Unit.largestWindow) }
    if session?.sender.isBlocked == true, session?.questions.due == nil { askAgainLater(at: now) }
    guard let answer = report.answer else { return }
    session?.questions.isMidStream = false
    // The answer settles everything that was sent before the question.
    askAgainLater(at: now)
    if let poll { measure(answer, of: answerLength, to: poll, at: now) }
  }

  private mutating func measure(
    _ answer: Acknowledgement.Answer, of length: Int, to poll: Questions.Poll, at now: UInt64
  ) {
    guard answer.delay < .max else { return }
    let expected = poll.expectedWait + pacer.time(of: length) + UInt64(answer.delay) * Acknowledgement.Answer.unit
    let excess = Int64(now - poll.sentAt) - Int64(expected)
    roundTrip.sample(UInt64(max(excess, 0)))
    if let lateness = pacer.lateness(of: excess) {
      // If the line was idle, a late answer waited in the queue of the peer and not in that of this end.
      let wait = poll.wasAtRest ? 0 : lateness
      session?.sender.frames.passages.measured(lateness: wait, adjusted: pacer.adjusted)
    }
    pacer.sample(excess: excess, wasAtRest: poll.wasAtRest, at: now)
  }

  private mutating func handle(_ header: DataHeader, payload: ArraySlice<UInt8>, at now: UInt64) {
    heard(at: now)
    session?.receiver.tookOther()
    session?.questions.isMidStream = true
    if let next = header.next {
      guard let outcome = acknowledge(Arrivals(next: next), of: nil, at: now) else { return }
      // An acknowledgement in DATA has no window, so the end of the window stays where it is.
      session?.sender.peerWindow -= outcome.advancedUnits
    }
    // Modified in place, because a session is large and this runs for every frame.
    guard
      let arrival = session?.receiver.units.receive(number: header.number, payload: payload, isLast: header.isLast)
    else { return }
    let isReportDue = session?.receiver.tookFrame() ?? false
    let later = now + configuration.acknowledgementDelay
    switch arrival {
    case .inOrder:
      let travelled = pacer.time(of: payload.count + FrameCodec.dataOverhead) + oneWay
      session?.receiver.arrivalBegan = now - min(travelled, now)
      session?.receiver.owe(by: isReportDue ? now : later)
      while let piece = session?.receiver.units.takeNext() {
        counters.receivedPayload += UInt64(piece.count)
        events.append(.received(Array(piece)))
      }
      if session?.receiver.units.isFinished == true, session?.receiver.hasReportedFinish == false {
        session?.receiver.hasReportedFinish = true
        session?.receiver.owe(by: now)
        events.append(.finished)
      }
    case .ahead(let isNewGap):
      session?.receiver.owe(by: isNewGap || isReportDue ? now : later)
    case .duplicate:
      counters.duplicateFrames += 1
      session?.receiver.owe(by: later)
    case .refused:
      counters.refusedFrames += 1
      session?.receiver.owe(by: later)
    }
  }

  // MARK: Every frame of the session

  private mutating func heard(at now: UInt64) {
    guard session != nil else { return }
    settleDamage()
    session?.questions.heard(at: now)
    if session?.interruption != nil { resume() }
    guard session?.isConfirmed == false else { return }
    session?.phase = .open
    session?.questions.needsOpen = false
    // A paced line is measured while it is idle.
    session?.questions.needsPoll = pacer.isPacing
    switch session?.questions.opened {
    case .once(let openedAt): if !pacer.isPacing { roundTrip.sample(now - openedAt) }
    // It is not known which copy has arrived.
    case .repeatedly: session?.questions.needsPoll = true
    case .never, nil: break
    }
    events.append(.confirmed)
  }

  private mutating func resume() {
    session?.interruption = nil
    counters.resumes += 1
    events.append(.resumed)
  }

  /// Processes an acknowledgement. `nil` if it was invalid and has ended the session.
  private mutating func acknowledge(
    _ arrivals: Arrivals, of poll: Questions.Poll?, at now: UInt64
  ) -> SendWindow.Outcome? {
    let oneWay = oneWay
    guard let outcome = session?.sender.frames.acknowledge(arrivals, of: poll?.order, delay: oneWay) else {
      counters.refusedFrames += 1
      end(.violation, telling: .aborted)
      return nil
    }
    counters.repeatedFrames += UInt64(outcome.lostFrames)
    for passage in outcome.passed { events.append(.passed(passage)) }
    sizer.note(outcome.trials)
    if let room = (session?.sender.peerLargestPayload).map(room) {
      session?.sender.corrector.note(outcome.correctableTrials, plain: sizer, room, at: now)
    }
    if outcome.arrivedFrames > 0 {
      askAgainLater(at: now)
      if session?.sender.leavingSince != nil { session?.sender.leavingSince = now }
    }
    return outcome
  }

  /// The time in nanoseconds from the departure of a byte until its arrival at the peer.
  private var oneWay: UInt64 { (pacer.leastRoundTrip ?? roundTrip.smoothed ?? 0) / 2 }

  /// Sends the window when it has grown enough.
  mutating func offerMore(at now: UInt64) {
    guard let session, session.isConfirmed, session.receiver.hasMoreToOffer(of: configuration.window) else { return }
    self.session?.receiver.owe(by: now)
  }
}
