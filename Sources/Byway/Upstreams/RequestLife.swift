import NIOCore

/// The life of one request at an upstream: it waits for a connection, is sent, is sent again where that is safe, and gets its response.
///
/// A pure state machine: time is an argument, and each event returns the next step. The table of states and events is in
/// docs/design/request-life.md.
struct RequestLife {
  /// The event that a request without a connection waits for.
  enum Want: Hashable {
    /// No connection is open.
    case connection
    /// All permitted connections are in use.
    case turn
  }

  enum State: Hashable {
    case waiting(for: Want, since: NIODeadline)
    /// Sent on a connection whose remote end has not answered yet, although it could have since that time. The remote end may be gone.
    case onTrust(since: NIODeadline, isWhole: Bool)
    /// Sent on a connection, with the deadline for the response's head.
    case sent(until: NIODeadline)
    /// The response has begun. The request will not be sent again, and has no more time limit.
    case answered
    case ended
  }

  /// The limits of a request over all of its attempts.
  struct Budget: Hashable {
    /// The total time without an open connection.
    var patience: TimeAmount
    /// Whether waiting continues after a failed attempt to open a connection.
    var isPatient = true
    /// The total time in the queue while all connections are in use.
    var queueing = TimeAmount.zero
    /// The time limit from the end of the request to the response's head, in each attempt; `nil`: no limit.
    var response: TimeAmount?
    var attempts = RetryRules.maximumAttempts
    var repetition = RetryRules.Repetition.idempotent
    /// The deadline for the response's head, over all attempts.
    var deadline = NIODeadline.distantFuture
  }

  enum Event {
    /// No connection is available.
    case wait(Want)
    /// An attempt to open a connection for it has failed.
    case connectFailed(BywayError)
    /// It will get no connection: too many exchanges are waiting, the upstream has shut down, or its body cannot be repeated.
    case turnedAway(BywayError)
    /// It was sent on a connection, completely or in part. `provingTakes` is the least time in which the connection can prove itself;
    /// `nil`: it is proved.
    case sent(isWhole: Bool, provingTakes: TimeAmount? = nil)
    /// The connection has returned it unsent.
    case withdrawn
    /// The remote end of its connection has proved that it speaks the protocol.
    case proved
    /// It was sent completely.
    case whole
    /// The remote end of its connection has been silent since that time, which is that of sending or later.
    case doubted(since: NIODeadline, isWhole: Bool)
    /// The connection could not complete it. Whether it may be sent again depends on its method and on the error.
    case attemptFailed(BywayError, isRepeatable: Bool)
    case responseBegan
    case responseEnded
    /// The sender has cancelled it.
    case cancelled
    /// The clock has advanced.
    case time
  }

  enum Step {
    case nothing
    /// It needs a connection again. If its body cannot be sent again, it is turned away with this error.
    case `repeat`(BywayError)
    /// It has ended without a response. Its connection, if any, is released.
    case fail(Failure)
    /// It has ended, and no error is reported. Its connection, if any, is released.
    case release
  }

  enum Failure {
    case error(BywayError)
    /// The time that ``Budget/response`` allows has passed.
    case silence(TimeAmount)
    case deadline
    case waited(for: Want)
  }

  private(set) var state: State
  private(set) var budget: Budget
  /// Whether the server may have processed an earlier attempt.
  private(set) var processing = BywayError.Processing.none
  private let attempts: Int

  init(_ budget: Budget, at now: NIODeadline) {
    self.budget = budget
    attempts = budget.attempts
    state = .waiting(for: .connection, since: now)
  }

  /// Whether it has not been sent yet.
  var isFirstAttempt: Bool { budget.attempts == attempts }

  /// When ``Event/time`` is due; `nil`: no time limit is running.
  var nextDeadline: NIODeadline? {
    switch state {
    case .waiting(for: let want, since: let start): min(budget.deadline, start + left(for: want))
    case .onTrust(since: let start, _): min(budget.deadline, start + budget.patience)
    case .sent(let end): end
    case .answered, .ended: nil
    }
  }

  mutating func handle(_ event: consuming Event, at now: @autoclosure () -> NIODeadline) -> Step {
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
    case (.waiting, .connectFailed(let error)) where !budget.isPatient || error.isLasting:
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

    // Late events: of attempts to connect that it no longer waits for, or of an attempt at sending that it has given up.
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
    // The error of the last connection says nothing about earlier attempts.
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
