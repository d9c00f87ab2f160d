extension Session {
  /// Processes a body with its check.
  /// - Parameters:
  /// - isCorrected: whether it came with correction.
  /// - isCopy: whether it came as a copy of HELLO or OPEN.
  /// - Returns: false if it is not a valid frame.
  mutating func take(_ bytes: Span<UInt8>, isCorrected: Bool, isCopy: Bool, _ now: Moment) -> Bool {
    let count = bytes.count &- 4
    guard count > 0 else { return false }
    let kind = FrameKind(code: bytes[0])
    if kind.isSealed, !isNamed { return false }
    let frame = bytes.extracting(0..<count)
    var checksum = Checksum(state: kind.isSealed ? seal : 0xFFFF_FFFF)
    checksum.add(frame)
    let check = bytes.number32(at: count)
    guard checksum.value == check else { return false }
    if isCopy, check == lastCheck { return true }
    lastCheck = isCopy || !isCorrected ? check : 0
    let least = kind.leastLength
    if least == 0 || least > count { return true }
    if isCorrected, isCopy != kind.isOpening { return true }
    if kind.isSealed {
      takeSealed(kind, frame, now)
    } else if kind == .hello {
      takeHello(frame)
    } else if kind == .open {
      takeOpen(frame, now)
    } else if kind == .poll {
      takePoll(frame, now)
    } else if !isCorrected {
      takeReset(frame)
    }
    return true
  }

  /// Notes that a frame of the session has arrived.
  @inline(never)
  private mutating func hear(_ kind: FrameKind, _ now: Moment) {
    state = .open
    questions = 0
    isUnanswered = false
    isHeld = false
    timers.stop(.patience)
    if !isLeaving { timers.stop(.closing) }
    if !sending.isUnacknowledged { timers.stop(.question) }
    timers.start(.keepalive, now + (role == .dialing ? Limit.dialersKeepalive : Limit.listenersKeepalive))
    if kind == .poll || kind == .answer {
      timers.stop(.silence)
    } else if timers.isRunning(.silence) {
      timers.start(.silence, now + Limit.silentTransfer)
    }
    noise.heard = now
  }

  // MARK: - Opening (section 3)

  private mutating func takeHello(_ frame: Span<UInt8>) {
    if role == .listening { return }
    guard frame[1] == Self.version else {
      if state != .none {
        end(.version, told: .aborted)
        incarnation = 0
      }
      return
    }
    let number = frame.number32(at: 2)
    if number == 0 || (isNamed && number == incarnation) { return }
    if isNamed { end(.restarted, told: .aborted) }
    incarnation = number
    takeLimits(frame, at: 6, optional: 8)
    takeStreams(frame, at: 9)
    if state == .asking {
      state = .opening
      setSeal()
      owed.insert(.open)
    }
  }

  private mutating func takeOpen(_ frame: Span<UInt8>, _ now: Moment) {
    let number = frame.number32(at: 2)
    let earlier = ended.reason(of: number)
    if role == .dialing {
      if isOpening { end(.bothDial, told: .bothDial) }
      oweReset(number, .bothDial)
    } else if frame[1] != Self.version {
      oweReset(number, .version)
    } else if frame.number32(at: 6) != incarnation {
      owed.insert(.helloAndCopy)
      takeLimits(frame, at: 10, optional: 14)
    } else if isConfirmed, number == session {
      hear(.open, now)
      oweAcknowledgement()
    } else if earlier != .unknown {
      oweReset(number, earlier)
    } else {
      accept(number, frame, now)
    }
  }

  /// Accepts the OPEN of a dialer, and begins a session (section 3, rule 5).
  private mutating func accept(_ number: UInt32, _ frame: Span<UInt8>, _ now: Moment) {
    if state != .none { end(.replaced, told: .aborted) }
    begin(number, now)
    setSeal()
    takeLimits(frame, at: 10, optional: 14)
    takeStreams(frame, at: 15)
    sending.open(frame.number16(at: 12))
    hear(.open, now)
    oweAcknowledgement()
  }

  /// Reads the largest payload and the number of strengths that a peer announces.
  private mutating func takeLimits(_ frame: Span<UInt8>, at index: Int, optional: Int) {
    peerPayload = max(frame.number16(at: index), 64)
    peerCorrection = optional < frame.count ? min(frame[optional], 12) : 0
  }

  /// Reads the streams that a peer announces: a dialer in OPEN, a listener in HELLO (section 13).
  private mutating func takeStreams(_ frame: Span<UInt8>, at index: Int) {
    guard Sizes.streams > 0 else { return }
    streams = 0
    peerCredit = 0
    guard index &+ 1 < frame.count, frame[index] != 0 else { return }
    streams = min(frame[index], UInt8(Sizes.streams))
    peerCredit = max(frame[index &+ 1], 1)
  }

  // MARK: - Frames of the session

  private mutating func takeReset(_ frame: Span<UInt8>) {
    guard state != .none, frame.number32(at: 1) == session else { return }
    var reason = EndReason.aborted
    if frame[5] <= EndReason.bothDial.rawValue { reason = EndReason(rawValue: frame[5]) ?? .aborted }
    if reason == .unknown, isOpening {
      owed.insert(.open)
      return
    }
    if reason == .finished, !(receiving.isComplete && sending.hasLast && sending.isAllSent) { reason = .aborted }
    end(reason, told: reason == .finished ? .finished : .aborted)
  }

  private mutating func takePoll(_ frame: Span<UInt8>, _ now: Moment) {
    let number = frame.number32(at: 1)
    if state == .none || number != session {
      oweReset(number, ended.reason(of: number))
    } else if isNamed {
      hear(.poll, now)
      owed.insert(.answer)
      pollToken = frame[5]
      pollTime = now
    }
  }

  private mutating func takeSealed(_ kind: FrameKind, _ frame: Span<UInt8>, _ now: Moment) {
    if kind == .acknowledgement || kind == .answer {
      guard Runs.length(in: frame, from: kind == .answer ? 7 : 5) != nil else { return }
    }
    hear(kind, now)
    if kind.isData {
      let number = UnitNumber(frame.number16(at: 1))
      if kind.acknowledges {
        guard takeAcknowledgement(frame, at: 3, hasWindow: false, runs: frame.count, poll: nil, now) else { return }
      }
      takeData(number, frame, from: kind.acknowledges ? 5 : 3, isLast: kind.isLast, now)
    } else if kind == .noise {
      if Sizes.strengths > 0 { noise.takeReport(frame[1]) }
    } else {
      let isAnswer = kind == .answer
      let poll = isAnswer ? roundTrip.takeAnswer(frame[1], delay: frame[2], pacer: pacer, now) : nil
      let runs = isAnswer ? 7 : 5
      let isKept = takeAcknowledgement(frame, at: runs &- 4, hasWindow: true, runs: runs, poll: poll, now)
      if isAnswer, isKept, isConfirmed { restartQuestion(now) }
    }
  }

  /// Processes an acknowledgement with well-formed runs. Returns false if it names units that were never sent, which ends the session
  /// (section 10).
  @inline(never)
  private mutating func takeAcknowledgement(
    _ frame: Span<UInt8>, at index: Int, hasWindow: Bool, runs: Int, poll: UInt16?, _ now: Moment
  ) -> Bool {
    let next = UnitNumber(frame.number16(at: index))
    if next.ahead(of: sending.first) < 0 { return true }
    guard sending.covers(next, beyond: Runs.length(in: frame, from: runs) ?? 0) else {
      endWithReset(.aborted)
      return false
    }
    let window = hasWindow ? frame.number16(at: index &+ 2) : nil
    if sending.acknowledge(next, window: window, poll: poll, frame, runs: runs) {
      restartQuestion(now)
      if timers.isRunning(.closing) { timers.start(.closing, now + Limit.closing) }
    }
    endIfFinished()
    return true
  }

  // MARK: - DATA (sections 4 and 10)

  private mutating func takeData(
    _ number: UnitNumber, _ frame: Span<UInt8>, from start: Int, isLast: Bool, _ now: Moment
  ) {
    let count = frame.count &- start
    let stop = number + max((count &+ 15) / 16, 1)
    if !receiving.hasEnd { timers.start(.silence, now + Limit.silentTransfer) }
    oweAcknowledgementSoon(now)
    guard count > 0 || isLast, receiving.accepts(number, to: stop, isLast: isLast) else { return }
    let isBeyondGap = number.ahead(of: receiving.high) > 0
    guard receiving.keep(frame, from: start, number, to: stop) else { return }
    if isLast { receiving.close(stop) }
    receiving.deliver()
    if !isBeyondGap, !isLast { dataFrames &+= 1 }
    if isBeyondGap || isLast || dataFrames >= 2 || receiving.owesWindow { oweAcknowledgement() }
    if receiving.isComplete { timers.stop(.silence) }
  }

  mutating func oweAcknowledgement() {
    owed.insert(.acknowledgement)
    timers.stop(.acknowledgement)
  }

  private mutating func oweAcknowledgementSoon(_ now: Moment) {
    guard !owed.contains(.acknowledgement), !timers.isRunning(.acknowledgement) else { return }
    timers.start(.acknowledgement, now + Limit.acknowledgementDelay)
  }
}
