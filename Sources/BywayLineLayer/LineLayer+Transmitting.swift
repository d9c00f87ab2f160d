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
    guard bearsCorrection(frame), let session, scratch.count <= CorrectableFrame.longestBody else {
      needsDelimiter = false
      return COBS.encode(scratch, into: &output)
    }
    let isData = if case .data = frame { true } else { false }
    let strength = session.sending.corrector.strength(of: scratch.count, isData: isData)
    // If this frame is lost, a zero at its end may be lost too.
    needsDelimiter = true
    CorrectableFrame.encode(
      scratch, strength, sync: CorrectableFrame.sync(of: session.id), codec: &codec, into: &output)
  }

  /// Whether a copy with correction follows the frame, because the line is not known yet.
  private func repeats(_ frame: Frame) -> Bool {
    guard Self.mendsOpenings(configuration.correction) else { return false }
    switch frame {
    case .hello: return repeatsHello
    case .open: return listenerAbilities == .unknown || Self.mendsOpenings(listenerAbilities.correction)
    case .reset, .poll, .acknowledgement, .noise, .data: return false
    }
  }

  private mutating func writeCopy(of frame: Frame, into output: inout [UInt8]) {
    FrameCodec.write(frame, seal: nil, into: &scratch)
    CorrectableFrame.encode(scratch, .ofOpenings, sync: CorrectableFrame.syncOfOpenings, codec: &codec, into: &output)
    needsDelimiter = true
  }

  /// Whether a frame gets correction. A frame of another session does not, because its receiver may not support it.
  private mutating func bearsCorrection(_ frame: Frame) -> Bool {
    switch frame {
    case .data: session?.sending.corrector.bears ?? false
    case .acknowledgement, .noise: reportBearsCorrection()
    // A peer that has restarted understands only polls without correction.
    case .poll(let id, _): session?.id.session == id && pollsBearCorrection
    case .hello, .open, .reset: false
    }
  }

  /// Whether ACK and NOISE get correction. They are not acknowledged, so the frames of the peer show whether correction helps.
  private mutating func reportBearsCorrection() -> Bool {
    guard let corrector = session?.sending.corrector, corrector.isOn else { return false }
    if corrector.isGuarding { return ear.noise != .none }
    if corrector.isProven || ear.mends { return true }
    return ear.noise == .none && session?.sending.corrector.takesNext() == true
  }

  private var pollsBearCorrection: Bool {
    guard let session else { return false }
    let isOn = session.sending.corrector.isProven || session.sending.corrector.isGuarding && ear.noise != .none
    return isOn && session.asking.unanswered % 2 == 1
  }

  /// Returns the length on the wire of a control frame that has `count` bytes without correction.
  func length(ofControl count: Int) -> Int {
    guard let corrector = session?.sending.corrector, corrector.isOn, corrector.isProven else { return count }
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
    guard session?.asking.needsOpen == true, let session else { return nil }
    self.session?.asking.open(at: now)
    self.session?.receiving.offered()
    asked(at: now)
    return .open(
      version: FrameCodec.version, session: session.id,
      largestPayload: UInt16(truncatingIfNeeded: configuration.largestPayload), window: session.receiving.window,
      correction: UInt8(configuration.correction),
      streams: session.streams == nil ? .none : session.ownStreams)
  }

  private mutating func reportFrame(at now: UInt64) -> Frame? {
    guard session?.receiving.owesReport == true, let session, session.isReady else { return nil }
    if session.receiving.answer == nil {
      guard let reportBy = session.receiving.reportBy, now >= reportBy, !canRide(session, at: now) else { return nil }
    }
    let report = Acknowledgement(
      answer: session.receiving.answer.map { .init(token: $0.token, delay: delay(since: $0.since, at: now)) },
      arrivals: session.receiving.arrivals, window: session.receiving.window)
    self.session?.receiving.reported()
    return .acknowledgement(report)
  }

  private mutating func noiseFrame() -> Frame? {
    guard let session, session.receiving.needsNoise, session.isConfirmed, session.sending.corrector.most > 0 else {
      return nil
    }
    let noise = noise(for: session)
    self.session?.receiving.tell(noise)
    return .noise(noise)
  }

  /// Returns the noise to report, if the peer supports correction.
  func noise(for session: Session) -> Noise { session.sending.corrector.most > 0 ? ear.noise : .none }

  /// Whether the acknowledgement can be part of the next DATA frame.
  private func canRide(_ session: Session, at now: UInt64) -> Bool {
    guard !session.receiving.units.hasGap, !session.receiving.units.isFinished, !session.asking.needsPoll,
      !session.asking.isHolding, !pollIsDue(session, at: now),
      !session.receiving.hasMoreToOffer(of: configuration.window)
    else { return false }
    return session.sending.frames.hasLost || session.sending.hasNext
  }

  private func delay(since time: UInt64, at now: UInt64) -> UInt8 {
    let waited = now - time + pacer.expectedWait(at: now, bytes: 0)
    return UInt8(min(waited / Acknowledgement.Answer.unit, 255))
  }

  // MARK: Polls

  private func pollIsDue(_ session: Session, at now: UInt64) -> Bool {
    // A busy line is measured at intervals.
    pacer.isPacing && session.sending.hasUnacknowledged && session.isConfirmed
      && now >= session.asking.polledAt + pacer.interval && !session.asking.isHolding && session.asking.wait == nil
  }

  private mutating func pollFrame(at now: UInt64) -> Frame? {
    guard session?.asking.needsPoll == true || pacer.isPacing else { return nil }
    guard let session, session.isReady, session.asking.needsPoll || pollIsDue(session, at: now) else { return nil }
    let id = session.id.session
    let order = self.session?.sending.frames.takeOrder() ?? 0
    let wait = pacer.expectedWait(at: now, bytes: length(ofControl: FrameCodec.pollLength))
    let wasAtRest = pacer.isAtRest(at: now)
    let poll = self.session?.asking.poll(order: order, expectedWait: wait, wasAtRest: wasAtRest, at: now)
    asked(at: now)
    return poll.map { .poll(session: id, token: $0.token) }
  }

  /// Notes that a question was sent.
  private mutating func asked(at now: UInt64) {
    session?.asking.unanswered += 1
    // The frames before may have been lost with the line.
    if session?.asking.isHolding == true { session?.sending.frames.interrupt() }
    session?.asking.isMidStream = false
    awaitAnswer(from: now)
    askAgainLater(at: now)
  }

  // MARK: Data

  private mutating func dataFrame(at now: UInt64) -> Frame? {
    guard var session = self.session.take() else { return nil }
    defer {
      self.session = session
      if session.asking.due == nil, session.sending.hasUnacknowledged { askAgainLater(at: now) }
    }
    guard session.isReady, !session.asking.isHolding, session.sending.frames.hasLost || session.sending.hasNext else {
      return nil
    }
    let header: DataHeader
    let payload: ArraySlice<UInt8>
    let rides = session.receiving.reportBy != nil && canRide(session, at: now)
    let isCorrectable = session.sending.corrector.takesNext()
    let size = payloadSize(for: session, isCorrectable: isCorrectable)
    let begins = max(pacer.busyUntil, now)
    func departure(of count: Int) -> Passages.Departure {
      let length = isCorrectable ? session.sending.corrector.length(count) : count + FrameCodec.dataOverhead
      return .init(
        begins: begins, ends: begins + pacer.time(of: length),
        adjusted: pacer.isAtRest(at: now) ? nil : pacer.adjusted)
    }
    if session.sending.frames.hasLost,
      let lost = session.sending.frames.resend(size, isCorrectable: isCorrectable, departure: departure(of: size))
    {
      header = DataHeader(number: lost.number, next: rides ? session.receiving.units.next : nil, isLast: lost.isLast)
      payload = lost.payload
    } else if session.sending.hasNext {
      let room = (session.sending.peerWindow - session.sending.frames.units) * Unit.size
      let piece = session.sending.pending.take(min(size, max(room, 0)))
      let isLast = session.sending.finish == .wanted && session.sending.pending.isEmpty
      let number = session.sending.frames.append(
        piece, isLast: isLast, isCorrectable: isCorrectable, departure: departure(of: piece.count))
      if isLast { session.sending.finish = .sent }
      counters.sentPayload += UInt64(piece.count)
      header = DataHeader(number: number, next: rides ? session.receiving.units.next : nil, isLast: isLast)
      payload = piece[...]
    } else {
      return nil
    }
    if rides {
      session.receiving.rode()
    }
    return .data(header, payload: payload)
  }
}
