extension Session {
  // MARK: - Questions (section 6)

  /// Starts the timer of a question that is handed to the driver.
  @inline(never)
  mutating func startQuestion(_ now: Moment) {
    let shift = questions > 1 ? min(UInt32(questions) &- 1, 5) : 0
    let both = Limit.acknowledgementDelay &+ pacer.time(of: isOpening ? 15 + 21 + 2 * 33 : 12 + 13)
    let limit = (isOpening ? Limit.openingQuestion : Limit.question) &+ both
    var wait = min((UInt32(roundTrip.trip) &+ both) << shift, limit)
    if pacer.isPaced { wait &+= Limit.longFrame }
    timers.start(.question, pacer.wire(now) + wait)
  }

  /// Restarts the question timer, or stops it if no question is needed.
  mutating func restartQuestion(_ now: Moment) {
    if sending.isUnacknowledged || isUnanswered {
      startQuestion(now)
    } else {
      timers.stop(.question)
    }
  }

  /// Sends a question that is due: POLL, or OPEN until the session is confirmed.
  mutating func ask(_ now: Moment) {
    owed.insert(isOpening ? .open : .poll)
    timers.stop(.question)
    if !timers.isRunning(.patience) {
      timers.start(.patience, now + (isOpening ? Limit.openingPatience : Limit.patience))
    }
  }

  // MARK: - Timers

  /// Handles a timer of the session that is due.
  mutating func fire(_ timer: Timers.Timer, _ now: Moment) {
    switch timer {
    case .acknowledgement: owed.insert(.acknowledgement)
    case .silence: if !timers.isRunning(.question) { ask(now) }
    case .patience: endWithReset(.silence)
    case .closing: close(now)
    case .grace: end(.gone, told: .aborted)
    case .question, .closedWindow, .keepalive, .partialFrame: ask(now)
    }
  }

  /// Updates what depends on the state and not on a timer.
  mutating func update(_ now: Moment) {
    if isLeaving { receiving.drop() }
    updateClosedWindow(now)
    updateClosing(now)
  }

  /// Sends a POLL each second while the window of the peer is full.
  private mutating func updateClosedWindow(_ now: Moment) {
    if !(isConfirmed && !isUnanswered && sending.isClosed()) {
      timers.stop(.closedWindow)
    } else if !timers.isRunning(.closedWindow) {
      timers.start(.closedWindow, now + Limit.closedWindow)
    }
  }

  /// Ends a session that is closing (section 6). In its second case, only the acknowledgement of an empty last frame is missing.
  private mutating func updateClosing(_ now: Moment) {
    guard isUnanswered, hasToldEnd, sending.hasLast, !timers.isRunning(.closing) else { return }
    if sending.waitsForEmptyLast() { timers.start(.closing, now + Limit.closing) }
  }

  /// Ends the session, because the closing time is over.
  private mutating func close(_ now: Moment) {
    if receiving.isComplete, sending.isDone {
      timers.start(.closing, now + Limit.closing)
    } else if hasToldEnd, sending.waitsForEmptyLast() {
      end(.finished, told: .finished)
    } else {
      endWithReset(.aborted)
    }
  }
}
