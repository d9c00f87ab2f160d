import Byway
import BywayInterceptors
import BywayPrimitives
import HTTPTypes
import NIOCore
import Synchronization

/// An interceptor that pauses exchanges at the breakpoints of the inspector's users. Safe on any thread.
///
/// While there are no breakpoints, requests bypass it.
final class Breakpoints: OccasionalInterceptor, SpareStore {
  typealias Pauses = PausedExchanges<PausedMessage.Decision>

  /// The presence of a user, until its last reference is released.
  final class Watcher: Sendable {
    private let breakpoints: Breakpoints

    fileprivate init(_ breakpoints: Breakpoints) {
      self.breakpoints = breakpoints
      breakpoints.change { $0.pauses.watcherCame() }
    }

    deinit { breakpoints.change { $0.pauses.watcherLeft(at: .now()) } }
  }

  private struct State {
    var pauses: Pauses
    var messages: [Int: PausedMessage] = [:]
    var waiters: [Int: CheckedContinuation<Pauses.Ending, Never>] = [:]
    /// Ends pauses at their deadlines, while there are any.
    var sweeper: Task<Void, Never>?

    /// Removes the waiters whose pauses have ended.
    mutating func takeEnded() -> [(CheckedContinuation<Pauses.Ending, Never>, Pauses.Ending)] {
      waiters.keys.sorted().compactMap { id in
        guard let ending = pauses.collect(id), let waiter = waiters.removeValue(forKey: id) else { return nil }
        messages[id] = nil
        return (waiter, ending)
      }
    }
  }

  /// The longest time between two looks at the deadlines: the last user may leave at any moment.
  private static let interval = TimeAmount.milliseconds(250)

  let list = RuleList<BreakpointRule>()
  let memory: PausedMemory
  let inspector: Inspector
  private let state: Mutex<State>

  init(of inspector: Inspector, limits: Pauses.Limits = Pauses.Limits()) {
    self.inspector = inspector
    memory = PausedMemory(inspector.budget)
    state = Mutex(State(pauses: Pauses(limits: limits)))
    inspector.budget.add(self)
  }

  var isNeeded: Bool { list.count > 0 }

  // MARK: Exchanges

  func intercept(_ request: Request, next: Next) async throws -> Response {
    guard let exchange = inspector.id(of: request) else { return try await next(request) }
    var sent = request
    if list.first(for: request.head, where: { $0.point == .request }) != nil {
      let isRead = !request.head.kind.asksForTunnel && !PausedMessage.isStream(request.head.headerFields)
      let message = PausedMessage(
        exchange: exchange, request: request, response: nil,
        body: ReadBody(request.body, memory.share(), isRead: isRead))
      switch try await decision(on: message) {
      case .request(let request): sent = request
      case .response(let response): return response
      case .unchanged, .drop: break
      }
    }
    let response = try await next(sent)
    guard !request.head.kind.asksForTunnel, isPaused(response.status.code, request.head) else {
      return response
    }
    let message = PausedMessage(
      exchange: exchange, request: request, response: response,
      body: ReadBody(response.body, memory.share(), isRead: !PausedMessage.isStream(response.fields)))
    if case .response(let response) = try await decision(on: message) { return response }
    return response
  }

  private func isPaused(_ status: Int, _ request: HTTPRequest) -> Bool {
    list.first(for: request) { $0.point == .response && $0.statuses?.contains(status) != false } != nil
  }

  /// Pauses an exchange.
  /// - Returns: the message that goes on.
  /// - Throws: an error if the message was dropped, or its client has left.
  private func decision(on message: PausedMessage) async throws -> PausedMessage.Decision {
    let begun = NIODeadline.now()
    let verdict = change { state in
      let verdict = state.pauses.pause(at: begun)
      if case .paused(let id, _) = verdict { state.messages[id] = message }
      return verdict
    }
    guard case .paused(let id, let until) = verdict else {
      if verdict == .full { inspector.note(message.exchange, .missed) }
      return message.continued
    }
    let deadline = WallTime.now().milliseconds + Double((until - begun).nanoseconds) / 1_000_000
    inspector.note(message.exchange, .paused(id: id, at: message.point, until: deadline))
    let ending = await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in change { $0.waiters[id] = waiter } }
    } onCancel: {
      change { $0.pauses.leave(id) }
    }
    inspector.note(message.exchange, nil)
    switch ending {
    case .left: throw CancellationError()
    case .decided(.drop):
      throw BywayError(.dropped, "A user of the inspector has dropped this exchange.", processing: .possible)
    case .decided(.response(let response)): return .response(response)
    case .decided(.request(let request)): return .request(request.later(by: .now() - begun))
    case .decided(.unchanged), .expired, .unwatched, .released:
      if case .request(let request) = message.continued { return .request(request.later(by: .now() - begun)) }
      return message.continued
    }
  }

  /// Changes the state, and lets those exchanges continue whose pauses have ended.
  private func change<Result: Sendable>(_ change: (inout State) throws -> Result) rethrows -> Result {
    let (result, ended) = try state.withLock { state in
      let result = try change(&state)
      if state.sweeper == nil, state.pauses.nextDeadline != nil { state.sweeper = Task { await self.sweep() } }
      return (result, state.takeEnded())
    }
    for (waiter, ending) in ended { waiter.resume(returning: ending) }
    return result
  }

  private func sweep() async {
    while let deadline = nextDeadline() {
      let rest = max(.milliseconds(1), min(Self.interval, deadline - .now()))
      try? await Task.sleep(for: .nanoseconds(rest.nanoseconds))
      change { $0.pauses.expire(at: .now()) }
    }
  }

  /// Returns the next deadline. Ends the sweeper if there is none.
  private func nextDeadline() -> NIODeadline? {
    state.withLock { state in
      let deadline = state.pauses.nextDeadline
      if deadline == nil { state.sweeper = nil }
      return deadline
    }
  }

  // MARK: Users

  /// Returns an object whose life is the presence of a user.
  func watch() -> Watcher { Watcher(self) }

  /// A user has acted, perhaps without a stream of events.
  func acted() {
    change { $0.pauses.acted(at: .now()) }
  }

  /// Returns a waiting message.
  /// - Throws: `Refusal` if it does not wait.
  func message(_ id: Int) throws -> PausedMessage {
    try state.withLock { state in
      try state.pauses.check(id)
      guard let message = state.messages[id] else { throw Pauses.Refusal.ended }
      return message
    }
  }

  /// - Throws: `Refusal` if it does not wait any more.
  func decide(_ id: Int, as decision: PausedMessage.Decision) throws {
    try change { try $0.pauses.decide(id, as: decision) }
  }

  // MARK: Memory

  /// Lets the oldest exchanges continue unchanged.
  func release(_ bytes: Int) {
    change { state in
      var left = bytes
      while left > 0, let id = state.pauses.releaseOldest() { left -= state.messages[id]?.body.count ?? 0 }
    }
  }
}

extension Request {
  /// Returns the same request with a later deadline: the time of a pause does not count.
  fileprivate func later(by time: TimeAmount) -> Request {
    var request = self
    request.deadline = deadline.map { $0 + time }
    return request
  }
}
