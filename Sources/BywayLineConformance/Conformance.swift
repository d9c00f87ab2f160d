import BywayLineLayer

/// A tester of one end of a line. It plays the peer of the end under test, runs one script after another, and reports the results in the
/// Test Anything Protocol.
///
/// A state machine without I/O, clock or random numbers, as the line layer is, so the same checks run in virtual time and on a device.
/// After each call take ``nextOrder()`` until it returns `nil`, and call ``handleTimeout(at:)`` at ``nextDeadline``. Times are nanoseconds.
package struct Conformance: Sendable {
  package struct Options: Sendable {
    /// The role of the end under test.
    package var role: Script.Role
    /// The facilities that the runner has.
    package var means: Set<Script.Need> = []
    /// Whether to skip checks that wait for many seconds.
    package var isQuick = false
    /// A part of the section and name of the scripts to run; empty for all.
    package var only = ""
    /// The delay that a frame may have because of the line, of schedulers, or of a clock.
    package var tolerance: UInt64 = 0
    /// The rate of the line to the end under test; `nil` if bytes take no time.
    package var bytesPerSecond: Int?
    /// The pause between two scripts, in which late frames arrive and are dropped.
    package var pause: UInt64 = 0
    package var seed: UInt64 = 1

    package init(role: Script.Role) {
      self.role = role
    }
  }

  package enum Order: Sendable, Equatable {
    /// Bytes for the end under test.
    case send([UInt8])
    /// A line of the report.
    case print(String)
    case cut, restore
    /// Restarts the program of the end under test.
    case start
    case owner(OwnerOrder)
  }

  enum Stage {
    /// Waits for a first frame. The tester sends an opening at intervals.
    case meeting(since: UInt64, sentAt: UInt64)
    /// Waits until this time and drops frames of the previous script.
    case pausing(until: UInt64)
    case opening(ScriptRun)
    case running(ScriptRun)
    case over
  }

  let options: Options
  let openings: [Opening]
  private var scripts: ArraySlice<Script>
  var stage: Stage
  var testPeer: TestPeer
  private var splitter = FrameSplitter()
  /// The latest frame that was received.
  private var latest: Frame?
  var unread: [ReceivedFrame] = []
  var transcript: Transcript
  private var orders: [Order] = []
  private var report: TestReport

  /// The time within which the end under test must send something.
  private static let patience: UInt64 = 30_000_000_000
  private static let interval: UInt64 = 500_000_000

  package init(_ catalogue: Catalogue, _ options: Options, at now: UInt64) {
    self.options = options
    openings = catalogue.openings
    let scripts = catalogue.scripts(for: options)
    self.scripts = scripts[...]
    testPeer = TestPeer(of: options.role, seed: options.seed)
    testPeer.answersOpenings = false
    report = TestReport(count: scripts.count)
    transcript = Transcript(since: now)
    stage = .meeting(since: now, sentAt: 0)
    report.plan.forEach { orders.append(.print($0)) }
    turn(at: now)
  }

  /// Whether the options select no script.
  package var isEmpty: Bool { report.count == 0 }
  package var isOver: Bool { if case .over = stage { true } else { false } }
  package var hasPassed: Bool { isOver && report.failures == 0 }

  package mutating func nextOrder() -> Order? { orders.isEmpty ? nil : orders.removeFirst() }

  package mutating func receive(_ bytes: [UInt8], at now: UInt64) {
    for run in splitter.receive(bytes, correcting: testPeer.id) {
      guard let received = testPeer.read(run, at: now) else {
        transcript.received("\(run.bytes.count + 1) bytes that are not a frame of this session", at: now)
        continue
      }
      transcript.received(received.summary, at: now)
      // This is a copy of the HELLO or OPEN before it.
      if run.isOpening, received.frame == latest { continue }
      latest = received.frame
      if let reason = testPeer.noteProgram(received.frame) { return abandon(reason) }
      let answer = testPeer.receive(received.frame)
      unread.append(received)
      if let answer { send([0] + testPeer.encode(answer, seal: testPeer.id), at: now) }
    }
    turn(at: now)
  }

  package mutating func handleTimeout(at now: UInt64) { turn(at: now) }

  /// Ends the test early, because the device is gone or the user has interrupted it.
  package mutating func abandon(_ reason: String) {
    guard !isOver else { return }
    output(report.bailOut(reason))
    stage = .over
  }

  package var nextDeadline: UInt64? {
    switch stage {
    case .meeting(_, let sentAt): sentAt + Self.interval
    case .pausing(let time): time
    case .opening(let run), .running(let run): run.deadline
    case .over: nil
    }
  }

  // MARK: Sequence of scripts

  private mutating func turn(at now: UInt64) {
    while true {
      switch stage {
      case .over: return
      case .meeting(let since, let sentAt):
        if !unread.isEmpty {
          pause(at: now)
        } else if now - since > Self.patience {
          return abandon("nothing was heard from the end under test for \(Self.patience / 1_000_000_000) seconds")
        } else {
          if sentAt == 0 || now >= sentAt + Self.interval { meet(since: since, at: now) }
          return
        }
      case .pausing(let time):
        guard now >= time else { return }
        next(at: now)
      case .opening(var run):
        let outcome = proceed(&run, at: now)
        stage = .opening(run)
        switch outcome {
        case nil: return
        case .passed: begin(at: now)
        case .failed(let reason): cannotBegin(run.step, reason, at: now)
        }
      case .running(var run):
        let outcome = proceed(&run, at: now)
        stage = .running(run)
        guard let outcome else { return }
        finish(run.step, outcome, at: now)
      }
    }
  }

  private mutating func meet(since: UInt64, at now: UInt64) {
    if options.role == .listen {
      let question = FramePattern(kind: .open, fields: [.session: .word("new"), .incarnation: .word("none")])
      send([0] + testPeer.bytes(of: .frame(question, isDamaged: false)), at: now)
    }
    stage = .meeting(since: since, sentAt: max(now, 1))
  }

  private mutating func next(at now: UInt64) {
    guard let script = scripts.first else {
      output(report.summary)
      stage = .over
      return
    }
    if let reason = options.reasonToSkip(script, isEcho: testPeer.isEcho) {
      skip(reason, at: now)
      return
    }
    transcript.begin(at: now)
    if script.needs.contains(.start) {
      splitter.reset()
      let isEcho = testPeer.isEcho
      testPeer = TestPeer(of: options.role, seed: options.seed &+ UInt64(report.done) &+ 1)
      testPeer.isEcho = isEcho
      orders.append(.start)
    }
    let opening = openings.first { $0.state == script.state && $0.role == options.role }
    testPeer.answersOpenings = opening?.excuse == nil
    begin(withLatestOf: unread, at: now)
    let isThere = script.state == "open" && options.role == .dial && testPeer.canGoOn
    stage = .opening(ScriptRun(isThere ? [] : opening?.steps ?? [], tolerance: options.tolerance, at: now))
  }

  /// Forgets the frames since the previous script, except an OPEN, which a dialer may not repeat soon.
  private mutating func begin(withLatestOf received: [ReceivedFrame], at now: UInt64) {
    unread = []
    testPeer.isBusy = false
    guard options.role == .dial, testPeer.phase != .open,
      let open = received.last(where: { if case .open = $0.frame { true } else { false } })
    else { return }
    unread = [ReceivedFrame(frame: open.frame, zeros: open.zeros, at: now)]
    if let answer = testPeer.receive(open.frame) {
      send([0] + testPeer.encode(answer, seal: testPeer.id), at: now)
    }
  }

  private mutating func begin(at now: UInt64) {
    guard let script = scripts.first else { return }
    if script.needs.contains(.correction), testPeer.endCorrection == 0 {
      return skip("the end under test supports no error correction", at: now)
    }
    if let strongest = script.strongest, strongest >= Int(testPeer.endCorrection) {
      return skip("the end under test supports \(testPeer.endCorrection) strengths", at: now)
    }
    testPeer.isBusy = true
    stage = .running(ScriptRun(script.steps, units: script.units, tolerance: options.tolerance, at: now))
  }

  private mutating func cannotBegin(_ step: String, _ reason: String, at now: UInt64) {
    guard let script = scripts.first else { return }
    let opening = openings.first { $0.state == script.state && $0.role == options.role }
    if let excuse = opening?.excuse, testPeer.phase != .none {
      skip(excuse, at: now)
    } else {
      finish("to begin, \(step)", .failed(reason), at: now)
    }
  }

  private mutating func skip(_ reason: String, at now: UInt64) {
    guard let script = scripts.popFirst() else { return }
    output(report.skip(script, reason))
    leave(at: now)
    pause(at: now)
  }

  private mutating func finish(_ step: String, _ outcome: ScriptRun.Outcome, at now: UInt64) {
    guard let script = scripts.popFirst() else { return }
    switch outcome {
    case .passed: output(report.pass(script))
    case .failed(let reason): output(report.fail(script, step: step, reason: reason, transcript.lines))
    }
    orders.append(.restore)
    leave(at: now)
    pause(at: now)
  }

  /// Ends the session, unless the next script can go on with it.
  private mutating func leave(at now: UInt64) {
    let next = scripts.first { options.reasonToSkip($0, isEcho: testPeer.isEcho) == nil }
    let isNeeded = options.role == .dial && testPeer.canGoOn && next?.state == "open"
    guard testPeer.phase == .opening || testPeer.phase == .open, !isNeeded else { return }
    let reset = FramePattern(kind: .reset, fields: [.reason: .word("aborted")])
    send([0] + testPeer.bytes(of: .frame(reset, isDamaged: false)), at: now)
  }

  private mutating func pause(at now: UInt64) {
    testPeer.isBusy = true
    stage = .pausing(until: now + options.pause)
  }

  // MARK: Actions

  private mutating func proceed(_ run: inout ScriptRun, at now: UInt64) -> ScriptRun.Outcome? {
    while true {
      var bytes: [UInt8] = []
      while let action = run.nextAction(sentUnits: testPeer.sentUnits, at: now) {
        if case .send(let transmission) = action {
          bytes += testPeer.bytes(of: transmission)
        } else {
          run.took(flush(&bytes, at: now))
          perform(action)
        }
      }
      run.took(flush(&bytes, at: now))
      let index = run.index
      if let outcome = run.proceed(&unread, testPeer, at: now) { return outcome }
      if run.index == index { return nil }
    }
  }

  private mutating func perform(_ action: ScriptRun.Action) {
    switch action {
    case .send: break
    case .mute: testPeer.isMuted = true
    case .cut:
      splitter.reset()
      orders.append(.cut)
    case .restore: orders.append(.restore)
    case .owner(let order): orders.append(.owner(order))
    }
  }

  /// - Returns: the time of the bytes on the line.
  private mutating func flush(_ bytes: inout [UInt8], at now: UInt64) -> UInt64 {
    guard !bytes.isEmpty else { return 0 }
    // A zero separates the first frame from noise.
    send([0] + bytes, at: now)
    defer { bytes = [] }
    return options.bytesPerSecond.map { UInt64(bytes.count) * 1_000_000_000 / UInt64(max($0, 1)) } ?? 0
  }

  private mutating func send(_ bytes: [UInt8], at now: UInt64) {
    for part in bytes.split(separator: 0) {
      var part = Array(part)
      let count = part.count + 1
      let text = FrameCodec.decode(&part, seal: testPeer.id)?.summary
      transcript.sent(text ?? "\(count) bytes that are not a frame of this session", at: now)
    }
    orders.append(.send(bytes))
  }

  private mutating func output(_ text: String) {
    for line in text.split(separator: "\n") { orders.append(.print(String(line))) }
  }
}
