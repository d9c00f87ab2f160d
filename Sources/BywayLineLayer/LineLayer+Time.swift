extension LineLayer {
  /// The longest pause between two questions without an answer.
  private static let longestPause: UInt64 = 1_000_000_000
  /// The same before the session is confirmed.
  private static let longestPauseOfOpening: UInt64 = 300_000_000
  /// The silence in the middle of a stream after which its receiver polls the peer.
  private static let pauseInStream: UInt64 = 1_000_000_000

  /// The time to call ``handleTimeout(at:)``, unless something else happens first. `nil` if no timer runs.
  package var nextDeadline: UInt64? {
    var deadline = UInt64.max
    if !isLineUp {
      if let session, let lineLostAt {
        deadline = min(lineLostAt + configuration.grace, departureAt(session) ?? .max)
      }
      return deadline == .max ? nil : deadline
    }
    if wakesWhenReady { deadline = pacer.readyAt }
    guard let session else { return deadline == .max ? nil : deadline }
    if let reportBy = session.receiver.reportBy { deadline = min(deadline, max(reportBy, pacer.readyAt)) }
    if let due = session.questions.due { deadline = min(deadline, due.at) }
    deadline = min(deadline, keepAliveAt(session))
    if let death = deathAt(session) { deadline = min(deadline, death) }
    if let silentAt = session.questions.wait?.silentAt { deadline = min(deadline, silentAt) }
    if let departure = departureAt(session) { deadline = min(deadline, departure) }
    return deadline
  }

  /// Runs the timers. Take events and frames afterwards, as after every call.
  package mutating func handleTimeout(at now: UInt64) {
    if wakesWhenReady, now >= pacer.readyAt {
      wakesWhenReady = false
      pacer.woke(at: now)
    }
    guard let session else { return }
    if let departure = departureAt(session), now >= departure { return end(.abortedHere, telling: .aborted) }
    guard isLineUp else {
      if let lineLostAt, now >= lineLostAt + configuration.grace { end(.lineLost, telling: nil) }
      return
    }
    if let death = deathAt(session), now >= death {
      return end(session.isLingering ? .finished : .silence, telling: session.isLingering ? nil : .silence)
    }
    if let due = session.questions.due, now >= due.at {
      let later = postponed(due, of: session, at: now)
      self.session?.questions.due = later
      if later == nil, needsAnswer(session) { ask(at: now) }
    }
    if now >= keepAliveAt(session) { ask(at: now) }
    if let silentAt = self.session?.questions.wait?.silentAt, now >= silentAt {
      interrupt(.silent(since: session.questions.heardAt))
    }
  }

  /// Handles the loss of the line, for example an unplugged adapter. The session waits for the line.
  package mutating func lineLost(at now: UInt64) {
    guard isLineUp else { return }
    isLineUp = false
    lineLostAt = now
    reader.reset()
    session?.questions.wait = nil
    session?.sender.corrector.forget()
    interrupt(.lost(at: now))
  }

  /// Makes the session wait for its line, unless it is waiting already.
  private mutating func interrupt(_ interruption: Interruption) {
    session?.questions.wait?.silentAt = nil
    guard let session, session.isReady, session.interruption == nil else { return }
    self.session?.interruption = interruption
    events.append(.interrupted(interruption))
    endIfExpendable()
  }

  /// Ends a session whose remaining data is not worth waiting for the line.
  mutating func endIfExpendable() {
    if let session, session.interruption != nil, session.sender.isExpendable { end(.abortedHere, telling: .aborted) }
  }

  /// Handles the return of the line. A question finds out which frames have arrived.
  package mutating func lineRestored(at now: UInt64) {
    guard !isLineUp else { return }
    isLineUp = true
    lineLostAt = nil
    needsDelimiter = true
    pacer.reset(at: now)
    guard session != nil else {
      if role != .dialer { queueHello() }
      return
    }
    session?.questions.unanswered = 2
    session?.sender.frames.interrupt()
    session?.questions.due = nil
    if session?.sender.leavingSince != nil { session?.sender.leavingSince = now }
    ask(at: now)
  }

  // MARK: Timers

  /// Whether the session needs an answer of the peer.
  private func needsAnswer(_ session: Session) -> Bool {
    session.sender.hasUnacknowledged || session.sender.isBlocked || session.questions.wait != nil
  }

  private mutating func ask(at now: UInt64) {
    guard let session else { return }
    // Silence counts from now on: a line that takes no bytes may never send the question.
    awaitAnswer(from: now)
    if session.isReady, session.isConfirmed {
      self.session?.questions.needsPoll = true
    } else {
      self.session?.questions.needsOpen = true
    }
  }

  /// Starts to wait for an answer, unless this end waits for one already.
  mutating func awaitAnswer(from now: UInt64) {
    guard let session, session.questions.wait == nil else { return }
    // The peer may be in the middle of its longest frame.
    let frame = pacer.time(of: quantum + FrameCodec.dataOverhead)
    let answerAt = max(pacer.busyUntil, now) + roundTrip.timeout + timeOfAnswer + frame
    let silentAt = session.isConfirmed && session.interruption == nil ? answerAt + configuration.silence : nil
    self.session?.questions.wait = Questions.Wait(since: now, silentAt: silentAt)
  }

  /// The time of a question and its answer on the wire, with the delay of an acknowledgement.
  private var timeOfAnswer: UInt64 {
    let isOpening = session?.isConfirmed == false
    let bytes =
      isOpening
      ? FrameCodec.openLength + FrameCodec.helloLength
      : length(ofControl: FrameCodec.pollLength) + length(ofControl: FrameCodec.answerLength)
    return configuration.acknowledgementDelay + pacer.time(of: bytes)
  }

  /// Starts the question timer, if there is something to ask.
  mutating func askAgainLater(at now: UInt64) {
    guard let session else { return }
    guard needsAnswer(session) else {
      self.session?.questions.due = nil
      return
    }
    if !session.sender.hasUnacknowledged, session.questions.wait == nil {
      let askAt = now + Self.longestPause
      self.session?.questions.due = Questions.Due(at: askAt, by: askAt)
      return
    }
    let doublings = UInt64(min(max(session.questions.unanswered - 1, 0), 10))
    // OPEN is short and may need several tries on a noisy line, so its interval stays short.
    let longest = session.isConfirmed ? Self.longestPause : Self.longestPauseOfOpening
    let pause = min((roundTrip.timeout + timeOfAnswer) << doublings, longest + timeOfAnswer)
    let askAt = max(pacer.busyUntil, now) + pause
    // The peer may be in the middle of a frame, with more frames queued.
    let more = pacer.isPacing && session.isConfirmed ? Pacer.frame + pacer.ahead : 0
    self.session?.questions.due = Questions.Due(at: askAt, by: askAt + more)
  }

  /// Returns a due question that waits for the rest of a frame, which may answer it; `nil` if it does not wait.
  private func postponed(_ due: Questions.Due, of session: Session, at now: UInt64) -> Questions.Due? {
    guard now < due.by else { return nil }
    // If this end has more to send or got no answer, waiting for the frame costs nothing.
    if !session.sender.pending.isEmpty || session.questions.unanswered > 0 {
      return Questions.Due(at: due.by, by: due.by)
    }
    return reader.restDue(at: now).map { Questions.Due(at: min($0, due.by), by: due.by) }
  }

  private func keepAliveAt(_ session: Session) -> UInt64 {
    // The question timer covers this case.
    guard session.questions.wait == nil, session.isConfirmed, !session.questions.needsPoll else { return .max }
    var interval = role == .dialer ? configuration.keepAlive : configuration.keepAlive / 2 * 5
    if session.questions.isMidStream { interval = min(interval, Self.pauseInStream) }
    let silence = session.questions.heardAt + interval
    return pacer.wantsRest ? min(silence, session.questions.polledAt + pacer.restInterval) : silence
  }

  /// Returns the time at which to end a session whose owner has left: the peer has taken no more data for that long, or it has everything
  /// and keeps sending.
  private func departureAt(_ session: Session) -> UInt64? {
    guard let since = session.sender.leavingSince else { return nil }
    if session.sender.isDelivered { return session.receiver.units.isFinished ? nil : since + configuration.patience }
    return isLineUp ? since + configuration.patience : nil
  }

  private func deathAt(_ session: Session) -> UInt64? {
    guard let wait = session.questions.wait else { return nil }
    if session.isLingering { return wait.since + configuration.patience }
    return wait.since + (session.isConfirmed ? configuration.grace : configuration.patience)
  }
}
