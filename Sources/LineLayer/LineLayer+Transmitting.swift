extension LineLayer {
  /// Appends the next frame for the line to `output`. `false` where there is nothing to send now.
  ///
  /// Hand each frame to the line before asking for the next; while the line takes nothing, do not ask.
  package mutating func nextTransmit(at now: UInt64, into output: inout [UInt8]) -> Bool {
    guard isLineUp, now >= pacer.readyAt, let frame = nextFrame(at: now) else { return false }
    let start = output.count
    // Noise that arrived while the line was quiet must not spoil this frame.
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
    let strength = session.corrector.strength(of: scratch.count, isData: isData)
    // One that was lost would take with it what a zero ends.
    needsDelimiter = true
    CorrectableFrame.encode(
      scratch, strength, sync: CorrectableFrame.sync(of: session.id), codec: &codec, into: &output)
  }

  /// Whether a copy with correction follows, as nothing is known of the line.
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

  /// Whether a frame gets correction. A frame of another session never does, because its receiver may understand none.
  private mutating func bearsCorrection(_ frame: Frame) -> Bool {
    switch frame {
    case .data: session?.corrector.bears ?? false
    case .acknowledgement, .noise: reportBearsCorrection()
    // An end that was restarted understands only the other.
    case .poll(let id, _): session?.id.session == id && pollsBearCorrection
    case .hello, .open, .reset: false
    }
  }

  /// Whether ACK and NOISE get correction. They are not acknowledged, so frames from the peer show whether it helps.
  private mutating func reportBearsCorrection() -> Bool {
    guard let corrector = session?.corrector, corrector.isOn else { return false }
    if corrector.isGuarding { return ear.noise != .none }
    if corrector.isProven || ear.mends { return true }
    return ear.noise == .none && session?.corrector.takesNext() == true
  }

  private var pollsBearCorrection: Bool {
    guard let session else { return false }
    let isOn = session.corrector.isProven || session.corrector.isGuarding && ear.noise != .none
    return isOn && session.unanswered % 2 == 1
  }

  /// Bytes on the wire of what is so long without correction.
  func length(ofControl count: Int) -> Int {
    guard let corrector = session?.corrector, corrector.isOn, corrector.isProven else { return count }
    let body = count - COBS.overhead
    return CorrectableFrame.length(of: body, corrector.strength(of: body, isData: false))
  }

  mutating func endIfComplete() {
    if session?.isComplete == true { end(.finished, telling: nil) }
  }

  /// Returns the next frame, in this order: frames that keep sessions apart, frames that the peer waits for, lost frames, new frames.
  private mutating func nextFrame(at now: UInt64) -> Frame? {
    if let frame = control.popFirst() { return frame }
    guard session != nil else { return nil }
    return openFrame(at: now) ?? reportFrame(at: now) ?? noiseFrame() ?? pollFrame(at: now) ?? dataFrame(at: now)
  }

  private mutating func openFrame(at now: UInt64) -> Frame? {
    guard session?.needsOpen == true, let session else { return nil }
    self.session?.needsOpen = false
    self.session?.opens += 1
    self.session?.openedAt = now
    self.session?.toldLimit = session.receive.limit
    asked(at: now)
    return .open(
      version: FrameCodec.version, session: session.id,
      largestPayload: UInt16(truncatingIfNeeded: configuration.largestPayload), window: UInt16(session.receive.window),
      correction: UInt8(configuration.correction))
  }

  private mutating func reportFrame(at now: UInt64) -> Frame? {
    guard session?.answer != nil || session?.reportBy != nil, let session, session.isReady else { return nil }
    if session.answer == nil {
      guard let reportBy = session.reportBy, now >= reportBy, !canRide(session, at: now) else { return nil }
    }
    let report = Acknowledgement(
      answer: session.answer.map { .init(token: $0.token, delay: delay(since: $0.since, at: now)) },
      arrivals: session.receive.arrivals(within: session.listLength), window: UInt16(session.receive.window))
    self.session?.reported()
    return .acknowledgement(report)
  }

  private mutating func noiseFrame() -> Frame? {
    guard let session, session.needsNoise, session.isConfirmed, session.corrector.most > 0 else { return nil }
    let noise = noise(for: session)
    self.session?.tell(noise)
    return .noise(noise)
  }

  /// Returns the noise for a peer that corrects frames.
  func noise(for session: Session) -> Noise { session.corrector.most > 0 ? ear.noise : .none }

  /// The next data frame may as well say what has arrived.
  private func canRide(_ session: Session, at now: UInt64) -> Bool {
    guard !session.receive.hasGap, !session.receive.isFinished, !session.needsPoll, !session.isHolding,
      !pollIsDue(session, at: now)
    else { return false }
    return !session.hasMoreToOffer(of: configuration.window) && (session.send.hasLost || mayCut(session))
  }

  private func delay(since time: UInt64, at now: UInt64) -> UInt8 {
    let waited = now - time + pacer.expectedWait(at: now, bytes: 0)
    return UInt8(min(waited / Acknowledgement.Answer.unit, 255))
  }

  // MARK: Polls

  private func pollIsDue(_ session: Session, at now: UInt64) -> Bool {
    // A line that is kept busy is compared with its model from time to time.
    pacer.isPacing && session.hasUnacknowledged && session.isConfirmed && now >= session.polledAt + pacer.interval
      && !session.isHolding && session.waitingSince == nil
  }

  private mutating func pollFrame(at now: UInt64) -> Frame? {
    guard session?.needsPoll == true || pacer.isPacing else { return nil }
    guard let session, session.isReady, session.needsPoll || pollIsDue(session, at: now) else { return nil }
    let wasAtRest = pacer.isAtRest(at: now)
    self.session?.needsPoll = false
    self.session?.polledAt = now
    self.session?.nextToken &+= 1
    let poll = Session.Poll(
      token: session.nextToken, order: self.session?.send.takeOrder() ?? 0, sentAt: now,
      expectedWait: pacer.expectedWait(at: now, bytes: length(ofControl: FrameCodec.pollLength)),
      wasAtRest: wasAtRest)
    self.session?.polls.append(poll)
    if self.session?.polls.count ?? 0 > 8 { self.session?.polls.removeFirst() }
    asked(at: now)
    return .poll(session: session.id.session, token: poll.token)
  }

  /// A question has gone out.
  private mutating func asked(at now: UInt64) {
    session?.unanswered += 1
    // Frames that were sent until now may have been lost with the line.
    if session?.isHolding == true { session?.send.interrupt() }
    session?.isMidStream = false
    awaitAnswer(from: now)
    askAgainLater(at: now)
  }

  // MARK: Data

  private func mayCut(_ session: Session) -> Bool {
    guard session.send.count < SendWindow.mostFrames else { return false }
    if session.pending.isEmpty { return session.finish == .wanted }
    return session.send.units < session.peerWindow
  }

  private mutating func dataFrame(at now: UInt64) -> Frame? {
    guard var session = self.session.take() else { return nil }
    defer {
      self.session = session
      if session.askAt == nil, session.hasUnacknowledged { askAgainLater(at: now) }
    }
    guard session.isReady, !session.isHolding, session.send.hasLost || mayCut(session) else { return nil }
    let header: DataHeader
    let payload: ArraySlice<UInt8>
    let rides = session.reportBy != nil && canRide(session, at: now)
    let isCorrectable = session.corrector.takesNext()
    let size = payloadSize(for: session, isCorrectable: isCorrectable)
    let begins = max(pacer.busyUntil, now)
    func departure(of count: Int) -> Passages.Departure {
      let length = isCorrectable ? session.corrector.length(count) : count + FrameCodec.dataOverhead
      return .init(
        begins: begins, ends: begins + pacer.time(of: length),
        adjusted: pacer.isAtRest(at: now) ? nil : pacer.adjusted)
    }
    if session.send.hasLost,
      let lost = session.send.resend(size, isCorrectable: isCorrectable, departure: departure(of: size))
    {
      header = DataHeader(number: lost.number, next: rides ? session.receive.next : nil, isLast: lost.isLast)
      payload = lost.payload
    } else if mayCut(session) {
      let room = (session.peerWindow - session.send.units) * Unit.size
      let piece = session.pending.take(min(size, max(room, 0)))
      let isLast = session.finish == .wanted && session.pending.isEmpty
      let number = session.send.append(
        piece, isLast: isLast, isCorrectable: isCorrectable, departure: departure(of: piece.count))
      if isLast { session.finish = .sent }
      counters.sentPayload += UInt64(piece.count)
      header = DataHeader(number: number, next: rides ? session.receive.next : nil, isLast: isLast)
      payload = piece[...]
    } else {
      return nil
    }
    if rides {
      session.reportBy = nil
      session.unreported = 0
    }
    return .data(header, payload: payload)
  }
}
