import BywayPrimitives

/// The way through a console to a gateway: wakes the console, logs in, finds the shell, and starts the gateway.
///
/// A value without I/O, clock or randomness: bytes and times go in, actions come out. Times are nanoseconds of any clock that does not go
/// back. After each call take ``nextAction()`` until there is none, and call ``handleTimeout(at:)`` at ``nextDeadline``.
/// docs/design/login-shell.md describes the states.
package struct ConsoleLogin {
  package enum Goal: Equatable, Sendable {
    /// A gateway speaks the protocol of lines.
    case gateway
    /// A shell runs each line that arrives, without prompts and without an echo.
    case commands
  }

  package enum Action: Equatable, Sendable {
    case send([UInt8])
    /// The owner sends the password and a carriage return, or gives up with ``fail(_:)``.
    case sendPassword
    /// The goal is reached. These bytes have come after that.
    case ready([UInt8])
    case failed(ConsoleFailure)
  }

  enum State: Equatable {
    /// A line break was sent.
    case waking
    /// The question for a gateway was sent.
    case asking
    case named
    case passwordSent
    /// A command that only a shell can answer was sent.
    case testing
    /// The command that starts the gateway was sent.
    case starting
    /// The command runs, and its first frame is awaited.
    case listening
    case over
  }

  private enum Limit {
    /// How long a console is silent when it waits for input.
    static let quiet: UInt64 = 300_000_000
    /// How long the first answer of a console may take, before this end asks for a gateway.
    static let waking: UInt64 = 600_000_000
    static let asking: UInt64 = 1_000_000_000
    static let named: UInt64 = 8_000_000_000
    /// A login waits some seconds after a wrong password.
    static let password: UInt64 = 15_000_000_000
    static let testing: UInt64 = 3_000_000_000
    static let starting: UInt64 = 8_000_000_000
    /// The pause between two questions for the gateway that was started.
    static let listening: UInt64 = 1_000_000_000
    static let questions = 30
    static let passwords = 2
    static let names = 6
    static let tests = 3
  }

  private let settings: ConsoleSettings
  private let goal: Goal
  private let marks: Marks
  private let giveUpAt: UInt64
  private var question: GatewayQuestion
  private var text = ConsoleText()
  /// The last words before this end has sent something.
  private var earlierWords: String?
  private(set) var state = State.waking
  private var actions: [Action] = []
  private var sentAt: UInt64
  private var heardAt: UInt64?
  private var hasHeard = false
  private var lastOther: String?
  private var passwords = 0
  private var names = 0
  private var tests = 0
  private var questions = 0

  /// - Parameters:
  ///   - seed: a random number, from which the marks are made.
  ///   - deadline: the time at which the login has failed.
  package init(_ settings: ConsoleSettings, goal: Goal, seed: UInt32, at now: UInt64, deadline: UInt64) {
    self.settings = settings
    self.goal = goal
    marks = Marks(seed: seed)
    question = GatewayQuestion(seed: seed)
    giveUpAt = deadline
    sentAt = now
    if settings.isTerminal { wake(at: now) } else { test(at: now) }
  }

  // MARK: For the owner

  package mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

  package var nextDeadline: UInt64? { state == .over ? nil : min(due, giveUpAt) }

  /// Ends the login, for a reason of the owner.
  package mutating func fail(_ failure: ConsoleFailure) {
    guard state != .over else { return }
    state = .over
    actions = [.failed(failure)]
  }

  /// The stream has ended.
  package mutating func closed() { fail(.closed(words: words)) }

  package mutating func receive(_ bytes: some Collection<UInt8>, at now: UInt64) {
    guard state != .over, !bytes.isEmpty else { return }
    heardAt = now
    hasHeard = true
    let known = text.bytes.count
    // Longer pieces than the text keeps are searched in parts.
    guard bytes.count <= ConsoleText.limit / 2 else {
      receive(bytes.prefix(ConsoleText.limit / 2), at: now)
      return receive(bytes.dropFirst(ConsoleText.limit / 2), at: now)
    }
    text.add(bytes)
    let new = min(known + bytes.count, text.bytes.count) - bytes.count
    switch state {
    case .testing where marks.shell.range(in: text.bytes, from: new) != nil: start(at: now)
    case .starting:
      guard let mark = marks.begin.range(in: text.bytes, from: new) else { return }
      began(text.bytes[mark.upperBound...].drop { $0 == 0x0A || $0 == 0x0D }, at: now)
    case .listening: listened(to: bytes, from: new)
    case .waking, .asking:
      question.receive(bytes)
      if question.isAnswered { heardGateway() }
    case .testing, .named, .passwordSent, .over: break
    }
  }

  package mutating func handleTimeout(at now: UInt64) {
    guard state != .over else { return }
    if now >= giveUpAt { return fail(exhausted(at: now)) }
    guard now >= due else { return }
    switch state {
    case .waking, .asking: look(at: now)
    case .named: namedLook(at: now)
    case .passwordSent: passwordLook(at: now)
    case .testing: testLook(at: now)
    // The shell has discarded what was typed before it was ready.
    case .starting: if settings.isTerminal, text.hasNoAnswer { test(at: now) } else { fail(.noShell(words: words)) }
    case .listening: ask(at: now)
    case .over: break
    }
  }

  // MARK: Marks

  /// The marks of the test of a shell, and of the begin and end of what was started.
  private struct Marks {
    let shell: ShellMark
    let begin: ShellMark
    let end: ShellMark

    init(seed: UInt32) {
      shell = ShellMark("S", seed: seed)
      begin = ShellMark("B", seed: seed)
      end = ConsoleLogin.endMark(seed: seed)
    }
  }

  /// The mark that is printed when what was started has ended.
  static func endMark(seed: UInt32) -> ShellMark { ShellMark("E", seed: seed) }

  // MARK: Steps

  private var words: String? { text.words() ?? earlierWords }

  private mutating func enter(_ state: State, sending bytes: [UInt8]?, at now: UInt64) {
    self.state = state
    earlierWords = text.words() ?? earlierWords
    text.clear()
    sentAt = now
    heardAt = nil
    if let bytes { actions.append(.send(bytes)) }
  }

  /// The key that ends a line.
  private var enterKey: String { settings.user == nil ? "\n" : "\r" }

  /// Deletes what stands in the line already, and ends it.
  private mutating func wake(at now: UInt64) {
    enter(.waking, sending: [0x15] + Array(enterKey.utf8), at: now)
  }

  private mutating func ask(at now: UInt64) {
    if state == .listening {
      questions += 1
      guard questions <= Limit.questions else { return fail(.mute(words: text.words())) }
      sentAt = now
      actions.append(.send(question.bytes))
    } else {
      enter(.asking, sending: question.bytes, at: now)
    }
  }

  private mutating func test(at now: UInt64) {
    tests += 1
    guard tests <= Limit.tests else { return fail(.noShell(words: words)) }
    let clearing = settings.isTerminal ? "\u{15}" : ""
    enter(.testing, sending: Array("\(clearing)\(enterKey) \(marks.shell.command())\(enterKey)".utf8), at: now)
  }

  private mutating func name(at now: UInt64) {
    guard let user = settings.user else { return fail(.userNeeded) }
    names += 1
    guard names <= Limit.names else { return fail(.refused(words: text.words())) }
    enter(.named, sending: Array("\(user)\(enterKey)".utf8), at: now)
  }

  private mutating func start(at now: UInt64) {
    let mode = goal == .commands ? "stty \(GatewayCommandLine.loopMode) 2>/dev/null; " : ""
    let raw = "stty raw -echo 2>/dev/null; \(mode)\(marks.begin.command())"
    let end = #"s=$?; stty sane 2>/dev/null; \#(marks.end.command(status: "$s"))"#
    let run =
      switch goal {
      case .gateway: GatewayCommandLine.serving(settings)
      case .commands: GatewayCommandLine.loop
      }
    let word = ShellWord.quoted("\(raw); \(run); \(end)")
    // After a login nothing shall remain that is logged in.
    enter(.starting, sending: Array(" \(settings.user == nil ? "" : "exec ")sh -c \(word)\(enterKey)".utf8), at: now)
  }

  private mutating func began(_ rest: some Collection<UInt8>, at now: UInt64) {
    let rest = Array(rest)
    enter(.listening, sending: nil, at: now)
    guard goal == .gateway else { return finish(rest) }
    question = question.restarted
    text.add(rest)
    listened(to: rest, from: 0)
  }

  private mutating func listened(to bytes: some Collection<UInt8>, from new: Int) {
    question.receive(bytes)
    if question.isAnswered { return finish([]) }
    guard let ending = marks.end.ending(in: text.bytes, from: new) else { return }
    switch ending.status {
    case 127: fail(.missing)
    case 126: fail(.unusable)
    default:
      var before = ConsoleText()
      before.add(ending.output)
      fail(.ended(status: ending.status, words: before.words()))
    }
  }

  private mutating func heardGateway() {
    if goal == .gateway { finish([]) } else { fail(.gatewayRuns) }
  }

  private mutating func finish(_ rest: [UInt8]) {
    state = .over
    actions.append(.ready(rest))
  }

  // MARK: Looking

  /// The time at which the console has been quiet, or has not answered, for long enough.
  private var due: UInt64 {
    let silence: UInt64 =
      switch state {
      case .waking: Limit.waking
      case .asking: Limit.asking
      case .named: Limit.named
      case .passwordSent: Limit.password
      case .testing: Limit.testing
      case .starting: Limit.starting
      case .listening: Limit.listening
      case .over: .max
      }
    guard state != .starting, state != .listening, let heardAt else { return sentAt &+ silence }
    return heardAt &+ Limit.quiet
  }

  private mutating func look(at now: UInt64) {
    switch text.prompt {
    case .login: name(at: now)
    // A question of an earlier login, whose name is not this one's.
    case .secret: wake(at: now)
    case .shell: test(at: now)
    case .other:
      let line = text.lastLine
      if line == lastOther, !line.isEmpty { test(at: now) } else { wake(at: now) }
      lastOther = line
    case .none:
      if state == .waking { ask(at: now) } else if settings.user == nil { test(at: now) } else { wake(at: now) }
    }
  }

  private mutating func namedLook(at now: UInt64) {
    switch text.prompt {
    case .secret where !text.lastLine.isEmpty:
      guard passwords < Limit.passwords else { return fail(.refused(words: text.words())) }
      enter(.passwordSent, sending: nil, at: now)
      passwords += 1
      actions.append(.sendPassword)
    case .login: name(at: now)
    case .shell: test(at: now)
    case .other, .none, .secret:
      if now >= sentAt &+ Limit.named { wake(at: now) } else { heardAt = nil }
    }
  }

  private mutating func passwordLook(at now: UInt64) {
    switch text.prompt {
    case .login:
      if passwords >= Limit.passwords { fail(.refused(words: text.words())) } else { name(at: now) }
    case .secret: fail(.refused(words: text.words()))
    case .shell: test(at: now)
    case .other, .none:
      // The login may still be at work. Its text stays, for the message.
      if now >= sentAt &+ Limit.password { wake(at: now) } else { heardAt = nil }
    }
  }

  private mutating func testLook(at now: UInt64) {
    switch text.prompt {
    case .login: name(at: now)
    case .secret: wake(at: now)
    case .shell, .other, .none:
      if now >= sentAt &+ Limit.testing { test(at: now) } else { heardAt = nil }
    }
  }

  private func exhausted(at now: UInt64) -> ConsoleFailure {
    guard hasHeard else { return .silent }
    if let heardAt, now < heardAt &+ Limit.quiet { return .endless }
    return switch state {
    case .listening: .mute(words: text.words())
    case .testing, .starting: .noShell(words: words)
    default: .noPrompt(words: words)
    }
  }
}
