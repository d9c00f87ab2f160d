import Testing

@testable import BywayLineLayer

/// A dialer and a listener on a perfect line: each receives at once what the other sends.
private struct Pair {
  var dialer = LineLayer(.dialer, configuration: .defaults, at: 0)
  var listener = LineLayer(.listener(incarnation: 7), configuration: .defaults, at: 0)
  var now: UInt64 = 1_000_000_000
  /// The events of each end.
  var atDialer: [LineLayerEvent] = []
  var atListener: [LineLayerEvent] = []

  /// Passes frames until neither end has more to send.
  mutating func exchange() {
    var isQuiet = false
    while !isQuiet {
      let toListener = dialer.transmit(at: now)
      let toDialer = listener.transmit(at: now)
      if listener.isLineUp { listener.receive(toListener, at: now) }
      if dialer.isLineUp { dialer.receive(toDialer, at: now) }
      atDialer += dialer.takeEvents()
      atListener += listener.takeEvents()
      isQuiet = toListener.isEmpty && toDialer.isEmpty
    }
  }

  /// Lets time pass, and runs the timers that expire.
  mutating func pass(seconds: Double) {
    let end = now + UInt64(seconds * 1e9)
    exchange()
    while let next = [dialer.nextDeadline, listener.nextDeadline].compactMap(\.self).min(), next <= end {
      now = max(now, next)
      dialer.handleTimeout(at: now)
      listener.handleTimeout(at: now)
      exchange()
    }
    now = end
  }

  mutating func open(_ session: UInt32 = 1) {
    dialer.open(session: session, at: now)
    exchange()
  }

  static func opened() -> Pair {
    var pair = Pair()
    pair.open()
    pair.pass(seconds: 1)
    pair.atDialer = []
    pair.atListener = []
    return pair
  }
}

@Suite("Sessions")
struct SessionTests {
  @Test("repeated OPEN and HELLO frames and their corrected copies do not count as damage")
  func repeatedOpenings() {
    var pair = Pair()
    pair.dialer.open(session: 1, at: pair.now)
    let open = pair.dialer.transmit(at: pair.now)
    pair.listener.receive(open, at: pair.now)
    let hello = pair.listener.transmit(at: pair.now)
    pair.dialer.receive(hello, at: pair.now)
    pair.exchange()
    #expect(pair.atDialer.contains(.confirmed))
    // The sender ends its last frame with a zero.
    pair.listener.receive(open + [0], at: pair.now)
    pair.dialer.receive(hello + [0], at: pair.now)
    pair.exchange()
    #expect(pair.dialer.statistics.damagedFrames == 0 && pair.listener.statistics.damagedFrames == 0)
    #expect(pair.dialer.statistics.foreignBytes == 0 && pair.listener.statistics.foreignBytes == 0)
  }

  private static func open(_ session: UInt32, at listener: inout LineLayer, _ now: UInt64) {
    let id = SessionID(session: session, incarnation: 7)
    listener.receive(.open(version: 1, session: id, largestPayload: 2048, window: 256), at: now)
    _ = listener.transmit(at: now)
  }

  @Test("a repeated OPEN restarts a listener's keep-alive")
  func repeatedOpenIsHeard() {
    var listener = LineLayer(.listener(incarnation: 7), configuration: .defaults, at: 0)
    Self.open(1, at: &listener, 1_000_000_000)
    #expect(listener.nextDeadline == 26_000_000_000)
    Self.open(1, at: &listener, 20_000_000_000)
    #expect(listener.nextDeadline == 45_000_000_000)
  }

  @Test("a listener remembers the reasons of the last 16 ended sessions")
  func remembered() {
    var listener = LineLayer(.listener(incarnation: 7), configuration: .defaults, at: 0)
    for session in 1...17 as ClosedRange<UInt32> {
      Self.open(session, at: &listener, 1)
      listener.receive(.reset(session: session, reason: .aborted), at: 1)
    }
    for session in 1...17 as ClosedRange<UInt32> {
      listener.receive(.poll(session: session, token: 1), at: 1)
      #expect(listener.sentFrames(at: 1) == [.reset(session: session, reason: session == 1 ? .unknown : .aborted)])
    }
  }

  @Test("if its line was lost for the grace time, a dialer forgets the listener's incarnation")
  func forgets() {
    var pair = Pair.opened()
    pair.dialer.lineLost(at: pair.now)
    pair.now += 31_000_000_000
    pair.dialer.handleTimeout(at: pair.now)
    #expect(pair.dialer.takeEvents().last == .ended(.lineLost))
    pair.dialer.lineRestored(at: pair.now)
    pair.dialer.open(session: 2, at: pair.now)
    guard case .open(_, let id, _, _, _, _) = pair.dialer.sentFrames(at: pair.now).first else {
      Issue.record("it sent no OPEN")
      return
    }
    #expect(id == SessionID(session: 2, incarnation: 0))
  }

  @Test("the closing time does not end a session while an end still has to send an acknowledgement")
  func waitsForItself() {
    var listener = LineLayer(.listener(incarnation: 7), configuration: .defaults, at: 0)
    Self.open(1, at: &listener, 1)
    listener.close(at: 1)
    #expect(listener.sentFrames(at: 1) == [.data(DataHeader(number: 0, next: nil, isLast: true), payload: [])])
    listener.receive(.acknowledgement(Acknowledgement(answer: nil, arrivals: Arrivals(next: 1), window: 8)), at: 2)
    listener.receive(.data(DataHeader(number: 0, next: nil, isLast: true), payload: []), at: 2)
    listener.handleTimeout(at: 6_000_000_000)
    #expect(listener.hasSession)
    let sent = listener.transmit(at: 6_000_000_001)
    #expect(!sent.isEmpty && !listener.hasSession && listener.takeEvents().last == .ended(.finished))
  }

  @Test("if a dialer does not know the listener's incarnation, it asks for it and then opens a session")
  func asks() {
    var pair = Pair()
    _ = pair.listener.transmit(at: 0)
    pair.dialer.open(session: 5, at: pair.now)
    #expect(pair.dialer.room(at: pair.now) == 0)
    pair.exchange()
    #expect(pair.atDialer == [.ready, .confirmed])
    #expect(pair.atListener == [.ready, .confirmed])
    #expect(pair.dialer.session?.id == SessionID(session: 5, incarnation: 7))
  }

  @Test("if a dialer knows the listener's incarnation, it sends DATA together with OPEN")
  func zeroRoundTrips() {
    var pair = Pair()
    pair.exchange()
    pair.dialer.open(session: 5, at: pair.now)
    #expect(pair.dialer.takeEvents() == [.ready])
    pair.dialer.send([1, 2, 3])
    let first = pair.dialer.transmit(at: pair.now)
    pair.listener.receive(first, at: pair.now)
    #expect(pair.listener.takeEvents() == [.ready, .confirmed, .received([1, 2, 3])])
    // The HELLO told the listener's largest payload, which holds for every session.
    #expect(pair.dialer.session?.sender.peerLargestPayload == 2048)
  }

  @Test("before it knows the listener's window, a dialer sends at most 4,096 bytes")
  func initialWindow() {
    var pair = Pair()
    pair.exchange()
    pair.dialer.open(session: 5, at: pair.now)
    pair.dialer.send([UInt8](repeating: 1, count: 100_000))
    _ = pair.dialer.transmit(at: pair.now)
    #expect(pair.dialer.statistics.sentPayload == 4096)
    pair.pass(seconds: 1)
    #expect(pair.atListener.map(\.bytes.count).reduce(0, +) == 100_000)
  }

  @Test("if OPEN is lost, a dialer repeats it, and no data is delivered twice")
  func lostOpening() {
    var pair = Pair()
    pair.exchange()
    pair.dialer.open(session: 5, at: pair.now)
    pair.dialer.send([1, 2, 3])
    _ = pair.dialer.transmit(at: pair.now)
    pair.pass(seconds: 2)
    #expect(pair.atListener == [.ready, .confirmed, .received([1, 2, 3])])
  }

  @Test("if no listener answers for five seconds, a dialer gives up and sends RESET(silence)")
  func nobodyThere() {
    var dialer = LineLayer(.dialer, configuration: .defaults, at: 0)
    dialer.open(session: 5, at: 0)
    var opens = 0
    var resets = 0
    var now: UInt64 = 0
    repeat {
      for frame in dialer.sentFrames(at: now) {
        if case .open = frame { opens += 1 }
        if case .reset(5, .silence) = frame { resets += 1 }
      }
      now = dialer.nextDeadline ?? now
      dialer.handleTimeout(at: now)
    } while dialer.hasSession
    resets += dialer.sentFrames(at: now).contains(.reset(session: 5, reason: .silence)) ? 1 : 0
    #expect(now == 5_000_000_000)
    #expect((12...20).contains(opens))
    #expect(resets == 1)
    #expect(dialer.takeEvents() == [.ended(.silence)])
    #expect(dialer.nextDeadline == nil)
  }

  @Test("both ends finish the session, whichever of them finishes first", arguments: [true, false])
  func end(_ dialerFirst: Bool) {
    var pair = Pair.opened()
    pair.dialer.send([1])
    if dialerFirst { pair.dialer.finish() } else { pair.listener.finish() }
    pair.exchange()
    #expect(pair.dialer.hasSession && pair.listener.hasSession)
    if dialerFirst { pair.listener.finish() } else { pair.dialer.finish() }
    pair.pass(seconds: 0.1)
    #expect(pair.atDialer == [.finished, .ended(.finished)])
    #expect(pair.atListener == [.received([1]), .finished, .ended(.finished)])
    #expect(pair.dialer.nextDeadline == nil && pair.listener.nextDeadline == nil)
  }

  @Test("if an end's last acknowledgement was lost, its peer still learns that the session finished")
  func lostLastAcknowledgement() {
    var pair = Pair.opened()
    pair.dialer.finish()
    pair.exchange()
    pair.listener.send([1, 2, 3])
    pair.listener.finish()
    pair.dialer.receive(pair.listener.transmit(at: pair.now), at: pair.now)
    _ = pair.dialer.transmit(at: pair.now)
    #expect(pair.dialer.takeEvents() == [.received([1, 2, 3]), .finished, .ended(.finished)])
    pair.pass(seconds: 2)
    #expect(pair.atListener == [.finished, .ended(.finished)])
  }

  @Test("after a session ends in silence, a dialer asks for the incarnation before it sends data")
  func asksAgain() {
    var pair = Pair.opened()
    pair.dialer.send([1])
    var events: [LineLayerEvent] = []
    let heardAt = pair.dialer.session?.questions.heardAt ?? 0
    while pair.dialer.hasSession, let next = pair.dialer.nextDeadline {
      pair.now = max(pair.now, next)
      pair.dialer.handleTimeout(at: pair.now)
      _ = pair.dialer.transmit(at: pair.now)
      events += pair.dialer.takeEvents()
    }
    #expect(events == [.interrupted(.silent(since: heardAt)), .ended(.silence)])
    pair.listener = LineLayer(.listener(incarnation: 8), configuration: .defaults, at: pair.now)
    pair.dialer.open(session: 2, at: pair.now)
    #expect(pair.dialer.takeEvents().isEmpty)
    pair.exchange()
    #expect(pair.atDialer == [.ready, .confirmed])
  }

  @Test("if data is unacknowledged, an end reports silence as a failure after 30 s")
  func silenceWithData() {
    var pair = Pair.opened()
    pair.listener.finish()
    pair.exchange()
    pair.dialer.send([1, 2, 3])
    pair.dialer.finish()
    var end: SessionEnd?
    let start = pair.now
    while end == nil, let next = pair.dialer.nextDeadline {
      _ = pair.dialer.transmit(at: pair.now)
      pair.now = max(pair.now, next)
      pair.dialer.handleTimeout(at: pair.now)
      for case .ended(let reason) in pair.dialer.takeEvents() { end = reason }
    }
    #expect(end == .silence)
    #expect(pair.now - start >= 30_000_000_000)
  }

  @Test("if its owner closes the session, an end still retransmits lost data, even after seconds of silence")
  func leaving() {
    var pair = Pair.opened()
    pair.listener.finish()
    pair.exchange()
    pair.dialer.send([UInt8](repeating: 7, count: 17))
    pair.dialer.close(at: pair.now)
    // From now on all frames are lost, POLLs included.
    let start = pair.now
    _ = pair.dialer.transmit(at: pair.now)
    while pair.now < start + 3_000_000_000, let next = pair.dialer.nextDeadline {
      pair.now = max(pair.now, next)
      pair.dialer.handleTimeout(at: pair.now)
      _ = pair.dialer.transmit(at: pair.now)
    }
    pair.pass(seconds: 2)
    #expect(pair.atListener == [.received([UInt8](repeating: 7, count: 17)), .finished, .ended(.finished)])
    #expect(pair.atDialer.last == .ended(.finished))
  }

  @Test("if the peer has everything but does not finish, a closed session ends after five seconds")
  func leavingTalker() {
    var pair = Pair.opened()
    pair.dialer.send([1])
    pair.dialer.close(at: pair.now)
    pair.pass(seconds: 4.9)
    #expect(pair.dialer.hasSession)
    pair.pass(seconds: 0.2)
    #expect(pair.atDialer == [.ended(.abortedHere)])
    #expect(pair.atListener == [.received([1]), .finished, .ended(.aborted)])
  }

  @Test("if the peer answers but accepts no data, a closed session ends after five seconds")
  func leavingBlocked() {
    var pair = Pair.opened()
    let window = LineLayerConfiguration.defaults.window
    pair.dialer.send([UInt8](repeating: 1, count: window + 5000))
    pair.pass(seconds: 5)
    pair.dialer.close(at: pair.now)
    pair.pass(seconds: 4.9)
    #expect(pair.dialer.hasSession)
    pair.pass(seconds: 0.2)
    #expect(pair.atDialer == [.ended(.abortedHere)])
  }

  @Test("if one end aborts the session, its peer is told")
  func abort() {
    var pair = Pair.opened()
    pair.listener.abort(at: pair.now)
    pair.exchange()
    #expect(pair.atListener == [.ended(.abortedHere)])
    #expect(pair.atDialer == [.ended(.aborted)])
  }

  @Test("if RESET was lost, the peer learns from its next POLL that the session was aborted", arguments: [true, false])
  func unheardAbort(_ atDialer: Bool) {
    var pair = Pair.opened()
    if atDialer { pair.dialer.abort(at: pair.now) } else { pair.listener.abort(at: pair.now) }
    _ = pair.dialer.transmit(at: pair.now)
    _ = pair.listener.transmit(at: pair.now)
    pair.pass(seconds: 26)
    #expect((atDialer ? pair.atListener : pair.atDialer) == [.ended(.aborted)])
  }

  @Test("a dialer learns from HELLO that the listener was restarted")
  func listenerRestarts() {
    var pair = Pair.opened()
    pair.listener = LineLayer(.listener(incarnation: 8), configuration: .defaults, at: pair.now)
    pair.exchange()
    #expect(pair.atDialer == [.ended(.peerRestarted)])
    pair.open(2)
    #expect(pair.atListener == [.ready, .confirmed])
  }

  @Test("if a dialer has missed HELLO, it learns from its next DATA that the listener was restarted")
  func missedGreeting() {
    var pair = Pair.opened()
    pair.listener = LineLayer(.listener(incarnation: 8), configuration: .defaults, at: pair.now)
    _ = pair.listener.transmit(at: pair.now)
    pair.dialer.send([1])
    pair.pass(seconds: 2)
    #expect(pair.atDialer == [.ended(.peerRestarted)])
    #expect(pair.atListener.isEmpty)
  }

  @Test("if a restarted dialer opens a session, the listener ends the old session and accepts the new one")
  func dialerRestarts() {
    var pair = Pair.opened()
    pair.dialer = LineLayer(.dialer, configuration: .defaults, at: pair.now)
    pair.open(2)
    #expect(pair.atListener == [.ended(.peerRestarted), .ready, .confirmed])
    pair.listener.send([1])
    pair.exchange()
    #expect(pair.atDialer == [.ready, .confirmed, .received([1])])
  }

  @Test("data for a listener that was restarted never reaches the new program")
  func successor() {
    var pair = Pair()
    pair.exchange()
    pair.dialer.open(session: 5, at: pair.now)
    pair.dialer.send(Array("POST /".utf8))
    pair.listener = LineLayer(.listener(incarnation: 8), configuration: .defaults, at: pair.now)
    pair.pass(seconds: 3)
    #expect(pair.atListener.isEmpty)
    #expect(pair.atDialer == [.ready, .ended(.peerRestarted)])
  }

  @Test("late frames of an earlier session are not delivered in a later one", arguments: [true, false])
  func staleBytes(_ sameSession: Bool) {
    var pair = Pair.opened()
    pair.dialer.send(Array("stale".utf8))
    let stale = pair.dialer.transmit(at: pair.now)
    pair.dialer = LineLayer(.dialer, configuration: .defaults, at: pair.now)
    // Even a dialer that draws the same number finds a listener that remembers it.
    pair.open(sameSession ? 1 : 2)
    pair.atListener = []
    pair.listener.receive(stale, at: pair.now)
    pair.exchange()
    if sameSession {
      // At the listener the same session continues, so it may deliver the data.
      #expect(pair.atListener.allSatisfy { $0.bytes.isEmpty || $0.bytes == Array("stale".utf8) })
    } else {
      #expect(pair.atListener.isEmpty)
    }
  }

  @Test("a replayed OPEN of an ended session is answered with RESET, and opens none")
  func replayedOpening() {
    var pair = Pair()
    pair.exchange()
    pair.dialer.open(session: 5, at: pair.now)
    pair.dialer.send([1])
    let recorded = pair.dialer.transmit(at: pair.now)
    pair.listener.receive(recorded, at: pair.now)
    #expect(pair.listener.takeEvents() == [.ready, .confirmed, .received([1])])
    pair.listener.abort(at: pair.now)
    _ = pair.listener.transmit(at: pair.now)
    _ = pair.listener.takeEvents()
    pair.listener.receive(recorded, at: pair.now)
    #expect(pair.listener.takeEvents().isEmpty)
    #expect(pair.listener.sentFrames(at: pair.now) == [.reset(session: 5, reason: .aborted)])
  }

  @Test(
    "after the line was lost for less than the grace time, a session resumes without loss or duplicates",
    arguments: [0.5, 29])
  func resume(_ seconds: Double) {
    var pair = Pair.opened()
    pair.dialer.send([1, 2, 3])
    pair.listener.send([4, 5, 6])
    _ = pair.dialer.transmit(at: pair.now)
    _ = pair.listener.transmit(at: pair.now)
    pair.dialer.lineLost(at: pair.now)
    pair.listener.lineLost(at: pair.now)
    let interrupted = LineLayerEvent.interrupted(.lost(at: pair.now))
    pair.pass(seconds: seconds)
    #expect(pair.dialer.transmit(at: pair.now).isEmpty)
    pair.dialer.lineRestored(at: pair.now)
    pair.listener.lineRestored(at: pair.now)
    pair.pass(seconds: 1)
    #expect(pair.atListener == [interrupted, .resumed, .received([1, 2, 3])])
    #expect(pair.atDialer == [interrupted, .resumed, .received([4, 5, 6])])
  }

  @Test("if the line is lost for the grace time, the session ends, and the peer is told once the line is back")
  func graceOver() {
    var pair = Pair.opened()
    pair.listener.lineLost(at: pair.now)
    let interrupted = LineLayerEvent.interrupted(.lost(at: pair.now))
    pair.pass(seconds: 29)
    #expect(pair.atListener == [interrupted])
    pair.pass(seconds: 2)
    #expect(pair.atListener == [interrupted, .ended(.lineLost)])
    pair.listener.lineRestored(at: pair.now)
    pair.pass(seconds: 20)
    #expect(pair.atDialer.last == .ended(.aborted) || pair.atDialer.last == .ended(.silence))
  }

  @Test("if the peer speaks another version, a listener sends RESET(version) and a dialer ends its session")
  func versions() {
    var listener = LineLayer(.listener(incarnation: 7), configuration: .defaults, at: 0)
    _ = listener.transmit(at: 0)
    listener.receive(
      .open(version: 2, session: SessionID(session: 5, incarnation: 0), largestPayload: 64, window: 1), at: 1)
    #expect(listener.sentFrames(at: 1) == [.reset(session: 5, reason: .version)])
    var dialer = LineLayer(.dialer, configuration: .defaults, at: 0)
    dialer.open(session: 5, at: 0)
    dialer.receive(.hello(version: 2, incarnation: 7, largestPayload: 64), at: 1)
    #expect(dialer.takeEvents() == [.ended(.version(2))])
    // A RESET does not contain the version.
    dialer.open(session: 6, at: 2)
    dialer.receive(.reset(session: 6, reason: .version), at: 3)
    #expect(dialer.takeEvents() == [.ended(.version(nil))])
  }

  @Test(
    "if a reader stops, the sender stops at the window, and both resume when it reads again", arguments: [false, true])
  func slowReader(_ isUpdateLost: Bool) {
    var pair = Pair.opened()
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
    pair.dialer.send(bytes)
    pair.pass(seconds: 60)
    var received = pair.atListener.flatMap(\.bytes)
    #expect(received.count <= LineLayerConfiguration.defaults.window && received.count > 100_000)
    #expect(pair.listener.statistics.refusedFrames == 0)
    pair.listener.consumed(received.count, at: pair.now)
    if isUpdateLost { _ = pair.listener.transmit(at: pair.now) }
    pair.atListener = []
    pair.pass(seconds: 3)
    received += pair.atListener.flatMap(\.bytes)
    #expect(received.count > 2 * 100_000)
    #expect(received == Array(bytes[..<received.count]))
  }

  @Test("if the update that reopens a full window was lost, the sender asks and can send again")
  func lostUpdateWithNothingPending() {
    var pair = Pair.opened()
    let window = LineLayerConfiguration.defaults.window
    pair.dialer.send([UInt8](repeating: 1, count: window))
    pair.pass(seconds: 5)
    #expect(pair.dialer.room(at: pair.now) == 0)
    pair.listener.consumed(window, at: pair.now)
    _ = pair.listener.transmit(at: pair.now)
    pair.pass(seconds: 1.5)
    #expect(pair.dialer.room(at: pair.now) > 0)
  }

  @Test("acknowledgements in DATA frames do not extend the window")
  func ridingAcknowledgements() {
    var pair = Pair.opened()
    for _ in 0..<300 {
      if pair.dialer.room(at: pair.now) > 0 { pair.dialer.send([UInt8](repeating: 1, count: 1000)) }
      pair.listener.send([UInt8](repeating: 2, count: 1000))
      pair.exchange()
      pair.now += 1_000_000
      for event in pair.atDialer { pair.dialer.consumed(event.bytes.count, at: pair.now) }
      pair.atDialer = []
    }
    pair.pass(seconds: 5)
    #expect(pair.listener.statistics.refusedFrames == 0)
    #expect(pair.dialer.statistics.repeatedFrames == 0)
  }
}
