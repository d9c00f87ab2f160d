extension LineLayer {
  /// Appends the next frame for the line to `output`. `false` where there is nothing to send now.
  ///
  /// Hand each frame to the line before the next call. Do not call while the line takes no bytes.
  package mutating func nextTransmit(at now: UInt64, into output: inout [UInt8]) -> Bool {
    guard isLineUp else { return false }
    guard now >= pacer.readyAt else {
      // An answer may have moved that time.
      wakesWhenReady = true
      return false
    }
    guard let frame = nextFrame(at: now) else { return false }
    let start = output.count
    // After a pause, a zero separates the frame from noise.
    if needsDelimiter || now > lastTransmitAt + 50_000_000 { output.append(0) }
    write(frame, into: &output)
    if repeats(frame) { writeCopy(of: frame, into: &output) }
    lastTransmitAt = now
    let count = output.count - start
    pacer.handOver(count, at: now)
    wakesWhenReady = pacer.readyAt > now
    counters.sentBytes += UInt64(count)
    counters.sentFrames += 1
    endIfComplete()
    return true
  }

  private mutating func write(_ frame: Frame, into output: inout [UInt8]) {
    FrameCodec.write(frame, seal: session?.id, into: &scratch)
    guard hasCorrection(frame), let session, scratch.count <= CorrectableFrame.longestBody else {
      needsDelimiter = false
      return COBS.encode(scratch, into: &output)
    }
    let isData = if case .data = frame { true } else { false }
    let strength = session.sender.corrector.strength(of: scratch.count, isData: isData)
    // If this frame is lost, a zero at its end may be lost too.
    needsDelimiter = true
    CorrectableFrame.encode(
      scratch, strength, sync: CorrectableFrame.sync(of: session.id), codec: &codec, into: &output)
  }

  /// Whether a copy with correction follows the frame, because the line is not known yet.
  private func repeats(_ frame: Frame) -> Bool {
    guard Self.correctsOpenings(configuration.correction) else { return false }
    switch frame {
    case .hello: return repeatsHello
    case .open: return listenerAbilities == .unknown || Self.correctsOpenings(listenerAbilities.correction)
    case .reset, .poll, .acknowledgement, .noise, .data: return false
    }
  }

  private mutating func writeCopy(of frame: Frame, into output: inout [UInt8]) {
    FrameCodec.write(frame, seal: nil, into: &scratch)
    CorrectableFrame.encode(scratch, .ofOpenings, sync: CorrectableFrame.syncOfOpenings, codec: &codec, into: &output)
    needsDelimiter = true
  }

  /// Whether a frame gets correction. A frame of another session does not, because its receiver may not support it.
  private mutating func hasCorrection(_ frame: Frame) -> Bool {
    switch frame {
    case .data: session?.sender.corrector.latestHasCorrection ?? false
    case .acknowledgement, .noise: reportHasCorrection()
    // A peer that has restarted understands only polls without correction.
    case .poll(let id, _): session?.id.session == id && pollsHaveCorrection
    case .hello, .open, .reset: false
    }
  }

  /// Whether ACK and NOISE get correction. They are not acknowledged, so the frames of the peer show whether correction helps.
  private mutating func reportHasCorrection() -> Bool {
    guard let corrector = session?.sender.corrector, corrector.isOn else { return false }
    if corrector.isGuarding { return noiseMeter.noise != .none }
    if corrector.isProven || noiseMeter.correctsFrames { return true }
    return noiseMeter.noise == .none && session?.sender.corrector.takesNext() == true
  }

  private var pollsHaveCorrection: Bool {
    guard let session else { return false }
    let isOn = session.sender.corrector.isProven || session.sender.corrector.isGuarding && noiseMeter.noise != .none
    return isOn && session.questions.unanswered % 2 == 1
  }

  /// Returns the length on the wire of a control frame that has `count` bytes without correction.
  func length(ofControl count: Int) -> Int {
    guard let corrector = session?.sender.corrector, corrector.isOn, corrector.isProven else { return count }
    let body = count - COBS.overhead
    return CorrectableFrame.length(of: body, corrector.strength(of: body, isData: false))
  }

  mutating func endIfComplete() {
    if session?.isComplete == true { end(.finished, telling: nil) }
  }

  /// Returns the next frame. The order is: frames about other sessions, frames that the peer waits for, retransmissions, new data.
  private mutating func nextFrame(at now: UInt64) -> Frame? {
    if let frame = control.popFirst() { return frame }
    guard session != nil else { return nil }
    return openFrame(at: now) ?? reportFrame(at: now) ?? noiseFrame() ?? pollFrame(at: now) ?? dataFrame(at: now)
  }

  private mutating func openFrame(at now: UInt64) -> Frame? {
    guard session?.questions.needsOpen == true, let session else { return nil }
    self.session?.questions.open(at: now)
    self.session?.receiver.offered()
    asked(at: now)
    return .open(
      version: FrameCodec.version, session: session.id,
      largestPayload: UInt16(truncatingIfNeeded: configuration.largestPayload), window: session.receiver.window,
      correction: UInt8(configuration.correction),
      streams: session.streams == nil ? .none : session.ownStreams)
  }

  private mutating func reportFrame(at now: UInt64) -> Frame? {
    guard session?.receiver.owesReport == true, let session, session.isReady else { return nil }
    if session.receiver.answer == nil {
      guard let reportBy = session.receiver.reportBy, now >= reportBy, !canAcknowledgeInData(session, at: now) else {
        return nil
      }
    }
    let report = Acknowledgement(
      answer: session.receiver.answer.map { .init(token: $0.token, delay: delay(since: $0.since, at: now)) },
      arrivals: session.receiver.arrivals, window: session.receiver.window)
    self.session?.receiver.reported()
    return .acknowledgement(report)
  }

  private mutating func noiseFrame() -> Frame? {
    guard let session, session.receiver.needsNoise, session.isConfirmed, session.sender.corrector.most > 0 else {
      return nil
    }
    let noise = noise(for: session)
    self.session?.receiver.tell(noise)
    return .noise(noise)
  }

  /// Returns the noise to report, if the peer supports correction.
  func noise(for session: Session) -> Noise { session.sender.corrector.most > 0 ? noiseMeter.noise : .none }

  /// Whether the acknowledgement can be part of the next DATA frame.
  private func canAcknowledgeInData(_ session: Session, at now: UInt64) -> Bool {
    guard !session.receiver.units.hasGap, !session.receiver.units.isFinished, !session.questions.needsPoll,
      !session.questions.isHolding, !pollIsDue(session, at: now),
      !session.receiver.hasMoreToOffer(of: configuration.window)
    else { return false }
    return session.sender.frames.hasLost || session.sender.hasNext
  }

  private func delay(since time: UInt64, at now: UInt64) -> UInt8 {
    let waited = now - time + pacer.expectedWait(at: now, bytes: 0)
    return UInt8(min(waited / Acknowledgement.Answer.unit, 255))
  }

  // MARK: Polls

  private func pollIsDue(_ session: Session, at now: UInt64) -> Bool {
    // A busy line is measured at intervals.
    pacer.isPacing && session.sender.hasUnacknowledged && session.isConfirmed
      && now >= session.questions.polledAt + pacer.interval && !session.questions.isHolding
      && session.questions.wait == nil
  }

  private mutating func pollFrame(at now: UInt64) -> Frame? {
    guard session?.questions.needsPoll == true || pacer.isPacing else { return nil }
    guard let session, session.isReady, session.questions.needsPoll || pollIsDue(session, at: now) else { return nil }
    let id = session.id.session
    let order = self.session?.sender.frames.takeOrder() ?? 0
    let wait = pacer.expectedWait(at: now, bytes: length(ofControl: FrameCodec.pollLength))
    let wasAtRest = pacer.isAtRest(at: now)
    let poll = self.session?.questions.poll(order: order, expectedWait: wait, wasAtRest: wasAtRest, at: now)
    asked(at: now)
    return poll.map { .poll(session: id, token: $0.token) }
  }

  /// Notes that a question was sent.
  private mutating func asked(at now: UInt64) {
    session?.questions.unanswered += 1
    // The frames before may have been lost with the line.
    if session?.questions.isHolding == true { session?.sender.frames.interrupt() }
    session?.questions.isMidStream = false
    awaitAnswer(from: now)
    askAgainLater(at: now)
  }

  // MARK: Data

  private mutating func dataFrame(at now: UInt64) -> Frame? {
    guard var session = self.session.take() else { return nil }
    defer {
      self.session = session
      if session.questions.due == nil, session.sender.hasUnacknowledged { askAgainLater(at: now) }
    }
    guard session.isReady, !session.questions.isHolding, session.sender.frames.hasLost || session.sender.hasNext else {
      return nil
    }
    let header: DataHeader
    let payload: ArraySlice<UInt8>
    let rides = session.receiver.reportBy != nil && canAcknowledgeInData(session, at: now)
    let isCorrectable = session.sender.corrector.takesNext()
    let size = payloadSize(for: session, isCorrectable: isCorrectable)
    let begins = max(pacer.busyUntil, now)
    func departure(of count: Int) -> Passages.Departure {
      let length = isCorrectable ? session.sender.corrector.length(count) : count + FrameCodec.dataOverhead
      return .init(
        begins: begins, ends: begins + pacer.time(of: length),
        adjusted: pacer.isAtRest(at: now) ? nil : pacer.adjusted)
    }
    if session.sender.frames.hasLost,
      let lost = session.sender.frames.resend(size, isCorrectable: isCorrectable, departure: departure(of: size))
    {
      header = DataHeader(number: lost.number, next: rides ? session.receiver.units.next : nil, isLast: lost.isLast)
      payload = lost.payload
    } else if session.sender.hasNext {
      let room = (session.sender.peerWindow - session.sender.frames.units) * Unit.size
      let piece = session.sender.pending.take(min(size, max(room, 0)))
      let isLast = session.sender.finish == .wanted && session.sender.pending.isEmpty
      let number = session.sender.frames.append(
        piece, isLast: isLast, isCorrectable: isCorrectable, departure: departure(of: piece.count))
      if isLast { session.sender.finish = .sent }
      counters.sentPayload += UInt64(piece.count)
      header = DataHeader(number: number, next: rides ? session.receiver.units.next : nil, isLast: isLast)
      payload = piece[...]
    } else {
      return nil
    }
    if rides {
      session.receiver.acknowledgedInData()
    }
    return .data(header, payload: payload)
  }
}
