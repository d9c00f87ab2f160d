extension LineLayer {
  /// The longest pause between two questions to an end that does not answer.
  private static let longestPause: UInt64 = 1_000_000_000
  /// The same while a session is opened.
  private static let longestPauseOfOpening: UInt64 = 300_000_000
  /// The silence in the middle of a stream after which its receiver asks whether the peer is there.
  private static let pauseInStream: UInt64 = 1_000_000_000

  /// When ``handleTimeout(at:)`` is to be called, if nothing else happens before. `nil` while there is nothing to wait for.
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
    if let reportBy = session.receiving.reportBy { deadline = min(deadline, max(reportBy, pacer.readyAt)) }
    if let due = session.asking.due { deadline = min(deadline, due.at) }
    deadline = min(deadline, keepAliveAt(session))
    if let death = deathAt(session) { deadline = min(deadline, death) }
    if let silentAt = session.asking.wait?.silentAt { deadline = min(deadline, silentAt) }
    if let departure = departureAt(session) { deadline = min(deadline, departure) }
    return deadline
  }

  /// Time has passed. Then take events and frames, as after every call.
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
    if let due = session.asking.due, now >= due.at {
      let later = putOff(due, of: session, at: now)
      self.session?.asking.due = later
      if later == nil, isCurious(session) { ask(at: now) }
    }
    if now >= keepAliveAt(session) { ask(at: now) }
    if let silentAt = self.session?.asking.wait?.silentAt, now >= silentAt {
      interrupt(.silent(since: session.asking.heardAt))
    }
  }

  /// The line is gone: unplugged, or the device with it. The session waits for it.
  package mutating func lineLost(at now: UInt64) {
    guard isLineUp else { return }
    isLineUp = false
    lineLostAt = now
    reader.reset()
    session?.asking.wait = nil
    session?.sending.corrector.forget()
    interrupt(.lost(at: now))
  }

  /// Makes the session wait for its line, unless it does so already.
  private mutating func interrupt(_ interruption: Interruption) {
    session?.asking.wait?.silentAt = nil
    guard let session, session.isReady, session.interruption == nil else { return }
    self.session?.interruption = interruption
    events.append(.interrupted(interruption))
    endIfExpendable()
  }

  /// Ends a session that waits for its line without need.
  mutating func endIfExpendable() {
    if let session, session.interruption != nil, session.sending.isExpendable { end(.abortedHere, telling: .aborted) }
  }

  /// Handles the return of the line. Frames that were under way may have arrived or not, which a question settles.
  package mutating func lineRestored(at now: UInt64) {
    guard !isLineUp else { return }
    isLineUp = true
    lineLostAt = nil
    needsDelimiter = true
    pacer.reset(at: now)
    guard session != nil else {
      if role != .dialer { sayHello() }
      return
    }
    session?.asking.unanswered = 2
    session?.sending.frames.interrupt()
    session?.asking.due = nil
    if session?.sending.leavingSince != nil { session?.sending.leavingSince = now }
    ask(at: now)
  }

  // MARK: Timers

  /// Whether something can be settled only by an answer.
  private func isCurious(_ session: Session) -> Bool {
    session.sending.hasUnacknowledged || session.sending.isBlocked || session.asking.wait != nil
  }

  private mutating func ask(at now: UInt64) {
    guard let session else { return }
    // From now on, silence counts: a line that takes nothing may never let the question out.
    awaitAnswer(from: now)
    if session.isReady, session.isConfirmed {
      self.session?.asking.needsPoll = true
    } else {
      self.session?.asking.needsOpen = true
    }
  }

  /// Waits for an answer from now on, if it did not already.
  mutating func awaitAnswer(from now: UInt64) {
    guard let session, session.asking.wait == nil else { return }
    // The peer may be in the middle of a frame as long as the longest from here.
    let frame = pacer.time(of: quantum + FrameCodec.dataOverhead)
    let answerAt = max(pacer.busyUntil, now) + roundTrip.timeout + timeOfAnswer + frame
    let silentAt = session.isConfirmed && session.interruption == nil ? answerAt + configuration.silence : nil
    self.session?.asking.wait = Asking.Wait(since: now, silentAt: silentAt)
  }

  /// The time of a question and its answer on the wire, and of the wait of the answer for company.
  private var timeOfAnswer: UInt64 {
    let isOpening = session?.isConfirmed == false
    let bytes =
      isOpening
      ? FrameCodec.openLength + FrameCodec.helloLength
      : length(ofControl: FrameCodec.pollLength) + length(ofControl: FrameCodec.answerLength)
    return configuration.acknowledgementDelay + pacer.time(of: bytes)
  }

  /// Sets the next question's time, where there is something to ask about.
  mutating func askAgainLater(at now: UInt64) {
    guard let session else { return }
    guard isCurious(session) else {
      self.session?.asking.due = nil
      return
    }
    if !session.sending.hasUnacknowledged, session.asking.wait == nil {
      let askAt = now + Self.longestPause
      self.session?.asking.due = Asking.Due(at: askAt, by: askAt)
      return
    }
    let doublings = UInt64(min(max(session.asking.unanswered - 1, 0), 10))
    // An opening is short, and on a line of noise takes a few tries: it is given up before they would have become many.
    let longest = session.isConfirmed ? Self.longestPause : Self.longestPauseOfOpening
    let pause = min((roundTrip.timeout + timeOfAnswer) << doublings, longest + timeOfAnswer)
    let askAt = max(pacer.busyUntil, now) + pause
    // The other end may be in the middle of a frame, with more before it.
    let more = pacer.isPacing && session.isConfirmed ? Pacer.frame + pacer.ahead : 0
    self.session?.asking.due = Asking.Due(at: askAt, by: askAt + more)
  }

  /// Returns a due question that waits for a frame that may be its answer; `nil` if it does not wait.
  private func putOff(_ due: Asking.Due, of session: Session, at now: UInt64) -> Asking.Due? {
    guard now < due.by else { return nil }
    // An end that has more to send, or is not answered, loses nothing by waiting for the other end's frame.
    if !session.sending.pending.isEmpty || session.asking.unanswered > 0 { return Asking.Due(at: due.by, by: due.by) }
    return reader.restDue(at: now).map { Asking.Due(at: min($0, due.by), by: due.by) }
  }

  private func keepAliveAt(_ session: Session) -> UInt64 {
    // One that waits for an answer asks by itself.
    guard session.asking.wait == nil, session.isConfirmed, !session.asking.needsPoll else { return .max }
    var interval = role == .dialer ? configuration.keepAlive : configuration.keepAlive / 2 * 5
    if session.asking.isMidStream { interval = min(interval, Self.pauseInStream) }
    let silence = session.asking.heardAt + interval
    return pacer.wantsRest ? min(silence, session.asking.polledAt + pacer.restInterval) : silence
  }

  /// When an owner that has left is not waited for any longer: the other end has taken nothing more for that long, or lacks nothing and
  /// only goes on talking.
  private func departureAt(_ session: Session) -> UInt64? {
    guard let since = session.sending.leavingSince else { return nil }
    if session.sending.isDelivered { return session.receiving.units.isFinished ? nil : since + configuration.patience }
    return isLineUp ? since + configuration.patience : nil
  }

  private func deathAt(_ session: Session) -> UInt64? {
    guard let wait = session.asking.wait else { return nil }
    if session.isLingering { return wait.since + configuration.patience }
    return wait.since + (session.isConfirmed ? configuration.grace : configuration.patience)
  }
}
