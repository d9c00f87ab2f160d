extension LineLayer {
  /// Appends the next frame for the line to `output`. `false` where there is nothing to send now.
  ///
  /// Hand each frame to the line before asking for the next; while the line takes nothing, do not ask.
  package mutating func nextTransmit(at now: UInt64, into output: inout [UInt8]) -> Bool {
    guard isLineUp, now >= pacer.readyAt, let frame = nextFrame(at: now) else { return false }
    let start = output.count
    // Whatever was on the line while it was quiet must not spoil this frame.
    if needsDelimiter || now > lastTransmitAt + 50_000_000 { output.append(0) }
    FrameCodec.encode(frame, seal: session?.id, scratch: &scratch, into: &output)
    needsDelimiter = false
    lastTransmitAt = now
    let count = output.count - start
    pacer.handOver(count, at: now)
    wakesWhenReady = pacer.readyAt > now
    counters.sentBytes += UInt64(count)
    counters.sentFrames += 1
    endIfComplete()
    return true
  }

  mutating func endIfComplete() {
    if session?.isComplete == true { end(.finished, telling: nil) }
  }

  /// In this order: what keeps sessions apart, what the other end waits for, what is missing there, what is new.
  private mutating func nextFrame(at now: UInt64) -> Frame? {
    if let frame = control.popFirst() { return frame }
    guard session != nil else { return nil }
    return openFrame(at: now) ?? reportFrame(at: now) ?? pollFrame(at: now) ?? dataFrame(at: now)
  }

  private mutating func openFrame(at now: UInt64) -> Frame? {
    guard let session, session.needsOpen else { return nil }
    self.session?.needsOpen = false
    self.session?.opens += 1
    self.session?.openedAt = now
    self.session?.toldLimit = session.receive.limit
    asked(at: now)
    return .open(
      version: FrameCodec.version, session: session.id,
      largestPayload: UInt16(truncatingIfNeeded: configuration.largestPayload), window: UInt16(session.receive.window))
  }

  private mutating func reportFrame(at now: UInt64) -> Frame? {
    guard let session, session.isReady else { return nil }
    if session.answer == nil {
      guard let reportBy = session.reportBy, now >= reportBy, !canRide(session, at: now) else { return nil }
    }
    let report = Acknowledgement(
      answer: session.answer.map { .init(token: $0.token, delay: delay(since: $0.since, at: now)) },
      arrivals: session.receive.arrivals(within: session.listLength), window: UInt16(session.receive.window))
    self.session?.reported()
    return .acknowledgement(report)
  }

  /// The next data frame may as well say what has arrived.
  private func canRide(_ session: Session, at now: UInt64) -> Bool {
    guard !session.receive.hasGap, !session.receive.isFinished, !session.needsPoll, !session.isHolding,
      !pollIsDue(session, at: now)
    else { return false }
    return !session.hasMoreToOffer(of: configuration.window) && (session.send.hasLost || mayCut(session))
  }

  private func delay(since time: UInt64, at now: UInt64) -> UInt8 {
    let waited = now - time + pacer.expectedWait(at: now, answer: 0)
    return UInt8(min(waited / Acknowledgement.Answer.unit, 255))
  }

  // MARK: Polls

  private func pollIsDue(_ session: Session, at now: UInt64) -> Bool {
    // A line that is kept busy is compared with its model from time to time.
    pacer.isPacing && session.hasUnacknowledged && session.isConfirmed && now >= session.polledAt + pacer.interval
      && !session.isHolding && session.waitingSince == nil
  }

  private mutating func pollFrame(at now: UInt64) -> Frame? {
    guard let session, session.isReady, session.needsPoll || pollIsDue(session, at: now) else { return nil }
    let wasAtRest = pacer.isAtRest(at: now)
    self.session?.needsPoll = false
    self.session?.polledAt = now
    self.session?.nextToken &+= 1
    let poll = Session.Poll(
      token: session.nextToken, order: self.session?.send.takeOrder() ?? 0, sentAt: now,
      expectedWait: pacer.expectedWait(at: now, answer: FrameCodec.pollLength + FrameCodec.answerLength),
      wasAtRest: wasAtRest)
    self.session?.polls.append(poll)
    if self.session?.polls.count ?? 0 > 8 { self.session?.polls.removeFirst() }
    asked(at: now)
    return .poll(session: session.id.session, token: poll.token)
  }

  /// A question has gone out: from now on, silence counts.
  private mutating func asked(at now: UInt64) {
    session?.unanswered += 1
    // What was sent until now may have gone nowhere.
    if session?.isHolding == true { session?.send.interrupt() }
    if session?.waitingSince == nil { session?.waitingSince = now }
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
    guard session.isReady, !session.isHolding else { return nil }
    let header: DataHeader
    let payload: ArraySlice<UInt8>
    let rides = session.reportBy != nil && canRide(session, at: now)
    if let lost = session.send.resend(payloadSize(for: session)) {
      header = DataHeader(number: lost.number, next: rides ? session.receive.next : nil, isLast: lost.isLast)
      payload = lost.payload
    } else if mayCut(session) {
      let room = (session.peerWindow - session.send.units) * Unit.size
      let piece = session.pending.take(min(payloadSize(for: session), max(room, 0)))
      let isLast = session.finish == .wanted && session.pending.isEmpty
      let number = session.send.append(piece, isLast: isLast)
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
