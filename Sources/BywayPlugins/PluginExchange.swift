import Byway
import BywayInterceptors
import HTTPTypes
import NIOCore
import Synchronization

/// An exchange that a plugin handles: the request as it arrived, and the rest of the chain. Safe on any thread.
final class PluginExchange: Sendable {
  private enum Phase {
    /// The plugin owes the head of its response.
    case awaited
    case answered
    /// The plugin was too slow.
    case late
    /// The plugin has made a change that is not allowed.
    case refused(ForwardingRules.Refusal)
  }

  private struct State {
    var phase = Phase.awaited
    /// How many things the plugin waits for: the client's body, and responses of the next hop.
    var waits = 0
    /// The time since which the plugin has been waiting for nothing.
    var busySince = NIODeadline.now()
    /// The time in which it was waiting for nothing before.
    var busyBefore = TimeAmount.zero
    var hasForwarded = false
    /// Whether the request fails or goes on without the plugin.
    var isClosed = false
    /// The fields of Byway in the responses of the next hop.
    var vouched: [HTTPField] = []
    var attempt: Task<Response, any Error>?
    var timer: Scheduled<Void>?

    var busy: TimeAmount { waits == 0 ? busyBefore + (NIODeadline.now() - busySince) : busyBefore }

    mutating func beginWait() {
      busyBefore = busy
      waits += 1
    }
  }

  /// The end of an exchange without a response of the plugin.
  enum Failing {
    case late
    case refused(ForwardingRules.Refusal)
  }

  private let request: Request
  private let next: Next
  private let settings: PluginSettings
  private let rules: ForwardingRules
  private let state = Mutex(State())

  init(_ request: Request, next: Next, _ settings: PluginSettings) {
    self.request = request
    self.next = next
    self.settings = settings
    rules = ForwardingRules(hosts: settings.scope.hosts)
  }

  /// Why this end has given the plugin up; `nil` if it has not.
  var failing: Failing? {
    state.withLock { state in
      switch state.phase {
      case .awaited, .answered: nil
      case .late: .late
      case .refused(let refusal): .refused(refusal)
      }
    }
  }

  /// The time that the plugin has taken itself, until now.
  var ownTime: TimeAmount { state.withLock(\.busy) }

  // MARK: The next hop

  /// Passes a request of the plugin on to the rest of the chain.
  func forward(_ received: Request) async throws -> Response {
    var sent = request
    do throws(ForwardingRules.Refusal) {
      sent.head = try rules.forwarded(received.head, of: request.head)
    } catch {
      refuse(error)
      throw Self.explain(error, of: settings.name)
    }
    try state.withLock { state in
      if state.isClosed { throw RunningExchanges.ended }
      state.hasForwarded = true
      state.beginWait()
    }
    let wait = PluginWait(self)
    sent.body = received.body
    sent.onInformational = received.onInformational
    var response = try await next(sent)
    // Only this plugin makes remarks in its name.
    response.head.headerFields[.note] = nil
    let vouched = response.head.headerFields.filter(\.name.isByways)
    if !vouched.isEmpty { state.withLock { $0.vouched += vouched } }
    // A plugin may read all of the response before it answers.
    return Response(response.head, body: response.body.holding(wait))
  }

  /// The exchange fails, whatever the plugin answers.
  private func refuse(_ refusal: ForwardingRules.Refusal) {
    let attempt = state.withLock { state -> Task<Response, any Error>? in
      guard case .awaited = state.phase else { return nil }
      state.phase = .refused(refusal)
      return state.attempt.take()
    }
    attempt?.cancel()
  }

  static func explain(_ refusal: ForwardingRules.Refusal, of plugin: String) -> BywayError {
    BywayError(
      .pluginFailed, "A message of the plugin \(plugin) was refused: \(refusal.reason).", processing: .none)
  }

  /// Checks the plugin's own response.
  func check(_ fields: HTTPFields) throws(ForwardingRules.Refusal) {
    try rules.check(response: fields, vouched: state.withLock(\.vouched))
  }

  // MARK: The deadline

  /// Cancels the attempt if the plugin takes too long.
  func watch(_ attempt: Task<Response, any Error>, on eventLoop: any EventLoop) {
    state.withLock { state in
      state.attempt = attempt
      state.busySince = .now()
    }
    look(on: eventLoop)
  }

  private func look(on eventLoop: any EventLoop) {
    let late = state.withLock { state -> Task<Response, any Error>? in
      guard case .awaited = state.phase else { return nil }
      let rest = state.waits > 0 ? settings.timeout : state.busySince + settings.timeout - .now()
      if rest > .zero {
        state.timer = eventLoop.scheduleTask(in: rest) { self.look(on: eventLoop) }
        return nil
      }
      state.phase = .late
      return state.attempt.take()
    }
    late?.cancel()
  }

  /// Lets the plugin send nothing on any more.
  /// - Returns: Whether it has sent the request on, at least once.
  func close() -> Bool {
    settle()
    return state.withLock { state in
      state.isClosed = true
      return state.hasForwarded
    }
  }

  /// The head of the response has arrived, or never will.
  func settle() {
    let timer = state.withLock { state -> Scheduled<Void>? in
      if case .awaited = state.phase { state.phase = .answered }
      state.attempt = nil
      return state.timer.take()
    }
    timer?.cancel()
  }

  func waitBegan() {
    state.withLock { $0.beginWait() }
  }

  func waitEnded() {
    state.withLock { state in
      state.waits -= 1
      if state.waits == 0 { state.busySince = .now() }
    }
  }
}

/// A time in which a plugin waits for a response of the next hop. It ends with the last reference.
private final class PluginWait: Sendable {
  private let exchange: PluginExchange

  init(_ exchange: PluginExchange) {
    self.exchange = exchange
  }

  deinit {
    exchange.waitEnded()
  }
}
