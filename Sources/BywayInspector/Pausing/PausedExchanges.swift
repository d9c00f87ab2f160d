import NIOCore

/// The exchanges that wait at breakpoints. A value without clock or lock.
///
/// Each pause ends once: by a decision of a user, by its deadline, by the absence of users, by a lack of memory, or because its client left.
/// It stays until its task has collected the ending.
struct PausedExchanges<Decision: Sendable>: Sendable {
  struct Limits: Sendable {
    /// The maximum number of exchanges that wait at once.
    var count = 16
    /// The time for a decision.
    var patience = TimeAmount.seconds(60)
    /// The time after the last user has left, until exchanges continue without one.
    var grace = TimeAmount.seconds(10)
  }

  enum Ending: Sendable {
    case decided(Decision)
    case expired
    case unwatched
    case released
    /// The client has left.
    case left
  }

  /// The answer to a wish to pause an exchange.
  enum Verdict: Sendable, Equatable {
    case paused(id: Int, until: NIODeadline)
    /// Too many wait.
    case full
    /// No user would decide.
    case unwatched
  }

  /// The reason why no decision is possible.
  enum Refusal: Error, Equatable {
    case unknown, ended
  }

  private enum State {
    case waiting(until: NIODeadline)
    case ended(Ending)
  }

  /// The users that could decide.
  private enum Audience {
    case watching(Int)
    case gone(since: NIODeadline)
    case never
  }

  private let limits: Limits
  /// The pauses by id, and so in their order.
  private var states: [(id: Int, state: State)] = []
  private var next = 1
  private var audience = Audience.never

  init(limits: Limits = Limits()) {
    self.limits = limits
  }

  private var waiting: [(id: Int, until: NIODeadline)] {
    states.compactMap { entry in
      if case .waiting(let until) = entry.state { (entry.id, until) } else { nil }
    }
  }

  /// The ids of the waiting exchanges, the oldest first.
  var ids: [Int] { waiting.map(\.id) }

  /// The next time at which ``expire(at:)`` has something to do.
  var nextDeadline: NIODeadline? {
    let deadlines = waiting.map(\.until)
    guard let first = deadlines.min() else { return nil }
    return patienceOfAudience.map { min($0, first) } ?? first
  }

  /// The end of the grace after the last user has left.
  private var patienceOfAudience: NIODeadline? {
    switch audience {
    case .watching: nil
    case .gone(let since): since + limits.grace
    case .never: .uptimeNanoseconds(0)
    }
  }

  // MARK: Pauses

  mutating func pause(at now: NIODeadline) -> Verdict {
    if let end = patienceOfAudience, end <= now { return .unwatched }
    guard waiting.count < limits.count else { return .full }
    defer { next += 1 }
    let until = now + limits.patience
    states.append((next, .waiting(until: until)))
    return .paused(id: next, until: until)
  }

  mutating func decide(_ id: Int, as decision: Decision) throws(Refusal) {
    try check(id)
    end(id, .decided(decision))
  }

  /// Checks that a pause can be decided.
  func check(_ id: Int) throws(Refusal) {
    guard id > 0, id < next else { throw .unknown }
    guard ids.contains(id) else { throw .ended }
  }

  /// The client has left. A decision that came first stays.
  mutating func leave(_ id: Int) { end(id, .left) }

  /// Ends the pauses whose time is over.
  mutating func expire(at now: NIODeadline) {
    let isUnwatched = patienceOfAudience.map { $0 <= now } ?? false
    for (id, until) in waiting {
      if until <= now { end(id, .expired) } else if isUnwatched { end(id, .unwatched) }
    }
  }

  /// Ends the oldest pause, because memory is short.
  /// - Returns: its id; `nil` if no exchange waits.
  mutating func releaseOldest() -> Int? {
    guard let id = ids.first else { return nil }
    end(id, .released)
    return id
  }

  private mutating func end(_ id: Int, _ ending: Ending) {
    guard let index = states.firstIndex(where: { $0.id == id }), case .waiting = states[index].state else { return }
    states[index].state = .ended(ending)
  }

  /// Returns the ending of a pause, once; `nil` while it waits.
  mutating func collect(_ id: Int) -> Ending? {
    guard let index = states.firstIndex(where: { $0.id == id }), case .ended(let ending) = states[index].state else {
      return nil
    }
    states.remove(at: index)
    return ending
  }

  // MARK: Users

  mutating func watcherCame() {
    if case .watching(let count) = audience { audience = .watching(count + 1) } else { audience = .watching(1) }
  }

  mutating func watcherLeft(at now: NIODeadline) {
    guard case .watching(let count) = audience else { return }
    audience = count > 1 ? .watching(count - 1) : .gone(since: now)
  }

  /// A user without a stream of events has acted.
  mutating func acted(at now: NIODeadline) {
    if case .watching = audience { return }
    audience = .gone(since: now)
  }
}
