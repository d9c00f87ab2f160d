import NIOCore

/// The life of one request at an upstream: it waits for a connection, is sent, is sent once more where that is safe, and gets
/// its response.
///
/// Only decides: time is an argument, and every event is answered with what is to be done. The table of states and events is
/// in docs/design/request-life.md.
struct RequestLife {
  /// What a request without a connection waits for.
  enum Want: Hashable {
    /// None is open.
    case connection
    /// Those that may be open are in use.
    case turn
  }

  enum State: Hashable {
    case waiting(for: Want, since: NIODeadline)
    /// On a connection whose far end has said nothing yet, though it could have since that time: that may be none at all.
    case onTrust(since: NIODeadline, isWhole: Bool)
    /// On a connection, until its response's head must have come.
    case sent(until: NIODeadline)
    /// The response has begun: it will not be sent again, and takes as long as it takes.
    case answered
    case ended
  }

  /// What a request may spend, over all of its attempts.
  struct Budget: Hashable {
    /// Time while no connection is open.
    var patience: TimeAmount
    /// A failed try to open one does not end the waiting.
    var isPatient = true
    /// Time in the queue for one that is in use.
    var queueing = TimeAmount.zero
    /// From the end of the request to the response's head, in each attempt; `nil`: no limit.
    var response: TimeAmount?
    var attempts = RetryRules.maximumAttempts
    /// When the response's head must have come, whatever happens until then.
    var deadline = NIODeadline.distantFuture
  }

  enum Event {
    /// There is no connection for it.
    case wait(Want)
    /// A try to open a connection for it has failed.
    case connectFailed(BywayError)
    /// No connection will ever come for it: too many wait already, the upstream has shut down, its body cannot be repeated.
    case turnedAway(BywayError)
    /// It leaves on a connection, with its end or without, and sooner than the connection has proved itself: that takes at
    /// least so long.
    case sent(isWhole: Bool, provingTakes: TimeAmount? = nil)
    /// Its connection has taken it back: nothing of it has left.
    case withdrawn
    /// The far end of its connection speaks the protocol.
    case proved
    /// Its end has come.
    case whole
    /// The far end of its connection has said nothing since that time, at which it was sent or later.
    case doubted(since: NIODeadline, isWhole: Bool)
    /// The connection could not bring it to its end. Whether it is one that may be sent twice after that, its sender's
    /// method and the error say.
    case attemptFailed(BywayError, isRepeatable: Bool)
    case responseBegan
    case responseEnded
    /// Whoever asked is gone.
    case cancelled
    /// Some time has passed.
    case time
  }

  enum Step {
    case nothing
    /// It needs a connection again; if its body cannot be sent again, it is turned away with this error.
    case `repeat`(BywayError)
    /// It is over, without a response. Its connection, if it has one, is let go of.
    case fail(Failure)
    /// It is over, and nobody is told. Its connection, if it has one, is let go of.
    case release
  }

  enum Failure {
    case error(BywayError)
    /// The time that ``Budget/response`` allows is over.
    case silence(TimeAmount)
    case deadline
    case waited(for: Want)
  }

  private(set) var state: State
  private(set) var budget: Budget
  /// An attempt may have been acted on.
  private(set) var processing = BywayError.Processing.none
  private let attempts: Int

  init(_ budget: Budget, at now: NIODeadline) {
    self.budget = budget
    attempts = budget.attempts
    state = .waiting(for: .connection, since: now)
  }

  /// It has not been sent yet.
  var isFirstAttempt: Bool { budget.attempts == attempts }

  /// When ``Event/time`` is to be told; `nil`: nothing waits.
  var nextDeadline: NIODeadline? {
    switch state {
    case .waiting(for: let want, since: let start): min(budget.deadline, start + left(for: want))
    case .onTrust(since: let start, _): min(budget.deadline, start + budget.patience)
    case .sent(let end): end
    case .answered, .ended: nil
    }
  }

  mutating func handle(_ event: Event, at now: @autoclosure () -> NIODeadline) -> Step {
    switch (state, event) {
    case (.ended, _):
      return .nothing
    case (_, .cancelled), (.onTrust, .responseEnded), (.sent, .responseEnded), (.answered, .responseEnded):
      state = .ended
      return .release

    case (.waiting, .wait(let want)):
      let now = now()
      spend(until: now)
      state = .waiting(for: want, since: now)
    case (.waiting, .sent(let isWhole, let proof)):
      let now = now()
      spend(until: now)
      budget.attempts -= 1
      if let proof {
        state = .onTrust(since: now + proof, isWhole: isWhole)
      } else {
        state = .sent(until: responseEnd(isWhole: isWhole, now))
      }
    case (.waiting, .connectFailed(let error)) where !budget.isPatient:
      return fail(.error(error))
    case (.waiting, .turnedAway(let error)):
      return fail(.error(error))
    case (.waiting(for: let want, since: let start), .time):
      let now = now()
      if now >= budget.deadline { return fail(.deadline) }
      if now >= start + left(for: want) { return fail(.waited(for: want)) }

    case (.onTrust(since: let start, _), .whole):
      state = .onTrust(since: start, isWhole: true)
    case (.onTrust(_, let isWhole), .proved):
      let now = now()
      spend(until: now)
      state = .sent(until: responseEnd(isWhole: isWhole, now))
    case (.sent, .doubted(let start, let isWhole)):
      if budget.isPatient { state = .onTrust(since: start, isWhole: isWhole) }
    case (.onTrust(since: let start, _), .time):
      let now = now()
      guard now >= min(budget.deadline, start + budget.patience) else { return .nothing }
      processing = .possible
      return fail(now >= budget.deadline ? .deadline : .waited(for: .connection))

    case (.onTrust, .withdrawn), (.sent, .withdrawn):
      let now = now()
      spend(until: now)
      budget.attempts += 1
      state = .waiting(for: .connection, since: now)
      return .repeat(Self.wasWithdrawn)

    case (.sent, .whole):
      state = .sent(until: responseEnd(isWhole: true, now()))
    case (.onTrust, .attemptFailed(let error, let isRepeatable)), (.sent, .attemptFailed(let error, let isRepeatable)):
      let now = now()
      spend(until: now)
      if error.processing == .possible { processing = .possible }
      guard isRepeatable, budget.attempts > 0, now < budget.deadline else { return fail(.error(error)) }
      state = .waiting(for: .connection, since: now)
      return .repeat(error)
    case (.onTrust, .responseBegan), (.sent, .responseBegan):
      state = .answered
    case (.sent(let end), .time):
      guard now() >= end else { return .nothing }
      processing = .possible
      if end < budget.deadline, let response = budget.response { return fail(.silence(response)) }
      return fail(.deadline)

    case (.answered, .attemptFailed(let error, _)):
      processing = .possible
      return fail(.error(error))

    // Late news: of tries that it does not wait for any more, or of an attempt that it has given up.
    case (.waiting, .connectFailed), (.waiting, .whole), (.waiting, .attemptFailed), (.waiting, .responseBegan),
      (.waiting, .responseEnded), (.waiting, .proved), (.waiting, .withdrawn), (.answered, .withdrawn),
      (.onTrust, .wait), (.onTrust, .connectFailed),
      (.onTrust, .turnedAway), (.onTrust, .sent), (.sent, .wait), (.sent, .connectFailed), (.sent, .turnedAway),
      (.sent, .sent), (.sent, .proved), (.answered, .wait), (.answered, .connectFailed), (.answered, .turnedAway),
      (.waiting, .doubted), (.onTrust, .doubted), (.answered, .doubted), (.answered, .sent), (.answered, .proved),
      (.answered, .whole), (.answered, .responseBegan), (.answered, .time):
      break
    }
    return .nothing
  }

  private static let wasWithdrawn = BywayError(
    .refused, "The far end takes fewer requests at once, and this one cannot begin again.", processing: .none)

  private mutating func fail(_ failure: Failure) -> Step {
    state = .ended
    guard case .error(var error) = failure else { return .fail(failure) }
    // What is known of the last connection says nothing of the attempts before.
    if processing == .possible { error.processing = .possible }
    return .fail(.error(error))
  }

  // MARK: Time

  private func left(for want: Want) -> TimeAmount {
    switch want {
    case .connection: budget.patience
    case .turn: budget.queueing
    }
  }

  private mutating func spend(until now: NIODeadline) {
    switch state {
    case .waiting(for: .connection, since: let start), .onTrust(since: let start, _):
      budget.patience = budget.patience - max(now - start, .zero)
    case .waiting(for: .turn, since: let start):
      budget.queueing = budget.queueing - (now - start)
    case .sent, .answered, .ended:
      break
    }
  }

  private func responseEnd(isWhole: Bool, _ now: NIODeadline) -> NIODeadline {
    guard isWhole, let response = budget.response else { return budget.deadline }
    return min(budget.deadline, now + response)
  }
}
