extension Session {
  /// Whether new DATA may be sent now.
  private var mayData: Bool { isNamed && questions < Limit.questionsBeforeHold && !isHeld && !isGone }

  private mutating func dataToSend() -> UnitNumber? { mayData ? sending.firstToSend() : nil }

  /// Whether there is a frame to send.
  mutating func owesFrame() -> Bool { !isGone && (!owed.isEmpty || copy != .none || dataToSend() != nil) }

  /// Whether an acknowledgement can be part of DATA (section 4).
  private mutating func acknowledgementFitsData() -> Bool {
    (owed.contains(.acknowledgement) || timers.isRunning(.acknowledgement)) && isConfirmed && !receiving.hasGap
      && !receiving.hasEnd && !receiving.owesWindow
  }

  /// Writes the body of the most urgent owed frame (appendix A, order).
  /// - Returns: false if no frame is owed.
  mutating func putOwed(to frame: inout OutgoingFrame, _ now: Moment) -> Bool {
    frame.begin()
    let data = dataToSend()
    if owed.contains(.reset) {
      putReset(to: &frame)
    } else if owed.contains(.hello) {
      copy = owed.contains(.copyOfHello) ? .hello : .none
      owed.remove(.helloAndCopy)
      putOpening(.hello, to: &frame)
    } else if owed.contains(.open) {
      copy = .open
      owed.remove(.open)
      noteQuestion()
      putOpening(.open, to: &frame)
    } else if owed.contains(.answer) {
      putAnswer(to: &frame, now)
    } else if owed.contains(.acknowledgement), !(data != nil && acknowledgementFitsData()) {
      frame.append(.acknowledgement)
      receiving.report(to: &frame)
    } else if owed.contains(.noise) {
      owed.remove(.noise)
      frame.append(.noise)
      frame.append(noise.tell())
    } else if owed.contains(.poll) {
      putPoll(to: &frame)
    } else if let data {
      putData(data, to: &frame)
    } else {
      return false
    }
    return true
  }

  private mutating func putReset(to frame: inout OutgoingFrame) {
    let reset = resets.take()
    if resets.isEmpty { owed.remove(.reset) }
    frame.append(.reset)
    frame.append(reset.session)
    frame.append(reset.reason)
  }

  /// Writes the body of HELLO or OPEN.
  mutating func putOpening(_ kind: FrameKind, to frame: inout OutgoingFrame) {
    frame.append(kind)
    frame.append(Self.version)
    if kind == .open { frame.append(session) }
    frame.append(state == .asking ? 0 : incarnation)
    frame.append(UInt16(Sizes.payload))
    if kind == .open { frame.append(UInt16(Sizes.receiveUnits)) }
    if Sizes.strengths > 0 || Sizes.streams > 0 { frame.append(UInt8(Sizes.strengths)) }
    guard Sizes.streams > 0, kind == .hello || (streams > 0 && state != .asking) else { return }
    frame.append(UInt8(Sizes.streams))
    frame.append(UInt8(kind == .hello ? Sizes.credit : Sizes.dialersCredit))
  }

  private mutating func putAnswer(to frame: inout OutgoingFrame, _ now: Moment) {
    let delay = pacer.wire(now) - pollTime
    frame.append(.answer)
    frame.append(pollToken)
    frame.append(UInt8(truncatingIfNeeded: delay >= 128 ? 255 : delay &* 2))
    owed.remove(.answer)
    receiving.report(to: &frame)
  }

  private mutating func putPoll(to frame: inout OutgoingFrame) {
    let token = roundTrip.ask(order: sending.takeOrder())
    owed.remove(.poll)
    noteQuestion()
    frame.append(.poll)
    frame.append(session)
    frame.append(token)
  }

  private mutating func noteQuestion() {
    if questions < 200 { questions &+= 1 }
    isUnanswered = true
    timers.stop(.question)
  }

  private mutating func putData(_ first: UnitNumber, to frame: inout OutgoingFrame) {
    frame.append(.data)
    frame.append(first.value)
    if acknowledgementFitsData() {
      frame.kind.acknowledges = true
      frame.append(receiving.next.value)
      noteAcknowledgement()
    }
    if sending.send(first, peerPayload: peerPayload, to: &frame) { frame.kind.isLast = true }
    noise.noteData()
  }

  /// Notes that an acknowledgement is handed to the driver.
  private mutating func noteAcknowledgement() {
    owed.remove(.acknowledgement)
    timers.stop(.acknowledgement)
    dataFrames = 0
    hasToldEnd = receiving.isComplete
    endIfFinished()
  }

  /// Starts the timers of a frame that is handed to the driver.
  mutating func noteHandedOver(_ kind: FrameKind, _ now: Moment) {
    if kind == .poll { roundTrip.noteSent(pacer.wire(now)) }
    if kind == .poll || kind == .open || kind.isData, !timers.isRunning(.question) { startQuestion(now) }
    guard kind == .acknowledgement || kind == .answer else { return }
    if Sizes.strengths > 0, noise.isReportDue(isAnswer: kind == .answer) { owed.insert(.noise) }
    noteAcknowledgement()
  }

  // MARK: - Correction (section 7)

  /// Returns the strength for the body of a frame; `nil` for no correction.
  mutating func strength(for kind: FrameKind, _ count: Int) -> Strength? {
    guard isNamed, kind.isSealed || kind == .poll else { return nil }
    if kind == .poll, questions > 1, questions & 1 == 0 { return nil }
    let most = min(Int(peerCorrection), Sizes.strengths)
    return noise.strength(for: count &+ 4, isData: kind.isData, most: most)
  }

  /// Returns the HELLO or OPEN whose copy must be sent now, if the peer may support correction.
  mutating func takeCopy() -> FrameKind {
    let kind = copy
    copy = .none
    let knowsPeer = kind == .hello || state == .opening
    return knowsPeer && peerCorrection < 4 ? .none : kind
  }

  /// Counts received bytes, and how many of them were wrong.
  mutating func countNoise(_ bytes: Int, wrong: Int) {
    if noise.count(bytes, wrong: wrong), peerCorrection > 0, isConfirmed { owed.insert(.noise) }
  }
}
