import Byway
import Logging
import NIOCore
import Synchronization

/// The configuration in force of a gateway, with its handlers on each event loop. Safe on any thread.
final class GatewayRules: Sendable {
  /// A configuration, with everything whose preparation can fail.
  final class Generation: Sendable {
    /// The origin, and how to reach it.
    enum OpenOrigin: Sendable {
      case handler(@Sendable (Request) async throws -> Response)
      case http1(OriginAccess.Way)
      case http2(Dialer)
    }

    let configuration: GatewayConfiguration
    let access: OriginAccess
    let origin: OpenOrigin

    /// - Throws: `BywayError` if the origin cannot be used, so that it is reported before the first request.
    init(_ configuration: GatewayConfiguration) throws {
      self.configuration = configuration
      access = try OriginAccess(configuration)
      let server = NamedServer(name: configuration.origin.text, source: .origin)
      origin =
        switch configuration.origin.kind {
        case .handler(let respond): .handler(respond)
        case .http1(let address): .http1(try access.way(to: address, as: server))
        case .http2(let address): .http2(try access.dialer(to: address, as: server))
        }
    }
  }

  /// The handlers for the connections of one event loop. They are made when the first link on that loop opens.
  ///
  /// `@unchecked Sendable`: used on that loop only.
  private final class LoopHandlers: @unchecked Sendable {
    let eventLoop: any EventLoop
    let current: CurrentHandler
    private var router: GatewayRouter

    init(_ generation: Generation, hop: String, on eventLoop: any EventLoop) {
      self.eventLoop = eventLoop
      router = GatewayRouter(generation, hop: hop, on: eventLoop)
      current = CurrentHandler(Self.chain(before: router, generation.configuration, on: eventLoop))
    }

    func replace(by generation: Generation, hop: String) {
      let next = GatewayRouter(generation, hop: hop, on: eventLoop)
      router.retire(for: next)
      router = next
      current.handler = Self.chain(before: next, generation.configuration, on: eventLoop)
    }

    var originStatus: UpstreamStatus? { router.originStatus }

    func shutDown() {
      router.shutDown()
    }

    private static func chain(
      before router: GatewayRouter, _ configuration: GatewayConfiguration, on eventLoop: any EventLoop
    ) -> any ExchangeHandler {
      let handler = intercepted(router, configuration, on: eventLoop)
      return configuration.claim.map { ClaimHandler($0, before: handler) } ?? handler
    }

    private static func intercepted(
      _ router: GatewayRouter, _ configuration: GatewayConfiguration, on eventLoop: any EventLoop
    ) -> any ExchangeHandler {
      guard !configuration.interceptors.isEmpty else { return router }
      let rules = RoutingRules(configuration)
      return InterceptingHandler(
        configuration.interceptors, before: router, on: LoopExecutor(eventLoop),
        destination: { rules.destination(of: $0) })
    }
  }

  private struct State {
    var generation: Generation
    var handlers: [ObjectIdentifier: LoopHandlers] = [:]
  }

  let hop: String
  private let failures: FailureLog
  private let traces = TraceSource()
  private let state: Mutex<State>

  init(_ configuration: GatewayConfiguration, hop: String, on eventLoop: any EventLoop) throws {
    self.hop = hop
    failures = FailureLog(configuration.logger, on: eventLoop)
    state = Mutex(State(generation: try Generation(configuration)))
  }

  var links: [Link] { state.withLock(\.generation).configuration.links }

  /// Returns the status of the origin from an event loop that has one; `nil` if no request has needed it yet.
  func originStatus() async -> UpstreamStatus? {
    for loop in state.withLock({ Array($0.handlers.values) }) {
      if let status = try? await loop.eventLoop.submit({ loop.originStatus }).get() { return status }
    }
    return nil
  }

  var origin: Origin { state.withLock(\.generation).configuration.origin }

  /// Returns the configuration for a new connection. On its event loop.
  func server(_ link: Link, of channel: (any Channel)? = nil, _ logger: Logger) -> ServerConfiguration {
    let generation = state.withLock(\.generation)
    var server = ServerConfiguration(
      hop: hop, http2: .init(liveness: generation.configuration.liveness?.keepingOpen(link)), logger: logger)
    // The origin is near: this suffices for two exchanges at full speed.
    server.readAhead = 512 << 10
    server.http2.streams.maximumConcurrent = Self.streams(within: generation.configuration)
    server.trustsTargetForm = true
    if link.opening == .dial { server.endingLevel = .debug }
    server.upgrades.allowed = generation.configuration.allowedUpgrades
    server.failed = { [failures] in failures.add($0, in: $1) }
    server.tally = generation.configuration.tally
    server.observation = Observation(
      generation.configuration.observers, listener: link.address.text, traces: traces, of: channel)
    return server
  }

  /// Returns the number of requests that a link carries at once: not more than the origin gets. The other end of the link knows its clients
  /// and shares the streams fairly between them; here they would all wait as one. A few always remain for other targets than the origin.
  private static func streams(within configuration: GatewayConfiguration) -> Int {
    max(16, min(GatewayConfiguration.streams, configuration.maximumOriginConnections))
  }

  /// Returns the handler for connections of an event loop. Called on that loop.
  func handler(on eventLoop: any EventLoop) -> any ExchangeHandler {
    let key = ObjectIdentifier(eventLoop)
    let handlers: LoopHandlers = state.withLock { state in
      if let handlers = state.handlers[key] { return handlers }
      let handlers = LoopHandlers(state.generation, hop: hop, on: eventLoop)
      state.handlers[key] = handlers
      return handlers
    }
    return handlers.current
  }

  /// Puts a configuration into force. Running exchanges continue under the old one.
  func replace(by next: Generation) async {
    let (before, handlers) = state.withLock { state in
      defer { state.generation = next }
      return (state.generation, Array(state.handlers.values))
    }
    for loop in handlers {
      // This fails only if the loop has ended, and then no client is served any more.
      try? await loop.eventLoop.submit { loop.replace(by: next, hop: self.hop) }.get()
    }
    await before.configuration.interceptors.retire(except: next.configuration.interceptors)
  }

  func shutDown() async {
    let (generation, handlers) = state.withLock { ($0.generation, Array($0.handlers.values)) }
    for interceptor in generation.configuration.interceptors { await interceptor.shutDown() }
    for loop in handlers { try? await loop.eventLoop.submit { loop.shutDown() }.get() }
    failures.finish()
  }
}
