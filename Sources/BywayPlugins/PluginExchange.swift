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
  }

  private struct State {
    var phase = Phase.awaited
    /// How many things the plugin waits for: the client's body, and responses of the next hop.
    var waits = 0
    /// The time since which the plugin has been waiting for nothing.
    var busySince = NIODeadline.now()
    var hasForwarded = false
    /// Whether the request fails or goes on without the plugin.
    var isClosed = false
    var attempt: Task<Response, any Error>?
    var timer: Scheduled<Void>?
  }

  private let request: Request
  private let next: Next
  private let timeout: TimeAmount
  private let state = Mutex(State())

  init(_ request: Request, next: Next, timeout: TimeAmount) {
    self.request = request
    self.next = next
    self.timeout = timeout
  }

  var isLate: Bool {
    state.withLock { state in
      if case .late = state.phase { true } else { false }
    }
  }

  // MARK: The next hop

  /// Passes a request of the plugin on to the rest of the chain.
  func forward(_ received: Request) async throws -> Response {
    try state.withLock { state in
      if state.isClosed { throw PluginExchanges.ended }
      state.hasForwarded = true
      state.waits += 1
    }
    let wait = PluginWait(self)
    var sent = request
    sent.head = continued(received.head)
    sent.body = received.body
    sent.onInformational = received.onInformational
    let response = try await next(sent)
    // A plugin may read all of the response before it answers.
    return Response(response.head, body: response.body.holding(wait))
  }

  /// Returns the head as it continues: it names the plugin's target, and has those properties of the request that a plugin cannot see or
  /// must not change.
  private func continued(_ received: HTTPRequest) -> HTTPRequest {
    var head = received
    head.scheme = request.head.scheme
    let fields = request.head.headerFields
    for name in [HTTPField.Name.exchange, .next] { head.headerFields[name] = nil }
    for name in [HTTPField.Name.targetForm, .proxyAuthorization] {
      head.headerFields[name] = nil
      head.headerFields[fields: name] = fields[fields: name]
    }
    return head
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
      let rest = state.waits > 0 ? timeout : state.busySince + timeout - .now()
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
    state.withLock { $0.waits += 1 }
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
