import Byway
import Logging
import NIOCore
import Synchronization

/// By which rules a proxy lets requests through, and where they go then. Used on the link's event loop.
struct ProxyTerms {
  /// Where tunnels may be ended, and how what comes out of them is served.
  struct Inspection {
    let termination: any TLSTermination
    let configuration: ServerConfiguration
  }

  let rules: IngressRules
  /// The far end judges which targets besides its own may be reached.
  let leadsToGateway: Bool
  let inspection: Inspection?
  let next: any ExchangeHandler
}

/// The way to the gateway that all connections of a proxy share, by the configuration in force.
///
/// `@unchecked Sendable`: what is not Sendable is touched on `eventLoop` only.
final class ProxyWay: @unchecked Sendable {
  /// A link, and what sends exchanges over it.
  ///
  /// `@unchecked Sendable`: the upstream is touched on the event loop only.
  struct Road: @unchecked Sendable {
    let link: Link
    /// As bound where the gateway dials it.
    let address: LinkAddress
    let dialer: Dialer
    let upstream: any Upstream
    let owned: OwnedUpstream

    /// - Throws: `BywayError` where the gateway is to dial it and it cannot be listened on.
    init(_ configuration: ProxyConfiguration, hop: String, on eventLoop: any EventLoop) async throws {
      link = configuration.link
      dialer = Dialer(link, logger: configuration.logger)
      address = try await dialer.inbound?.listen(on: eventLoop) ?? link.address
      upstream = link.makeUpstream(
        over: dialer, on: eventLoop, hop: hop, patience: configuration.patience, liveness: configuration.liveness,
        logger: configuration.logger)
      owned = OwnedUpstream(upstream, on: eventLoop)
    }

    /// A gateway that dials is answered at once.
    func open() {
      if dialer.inbound != nil { owned.open() }
    }

    func shutDown() async {
      await owned.shutDown()
      await dialer.inbound?.close()
    }
  }

  private struct State {
    var configuration: ProxyConfiguration
    var road: Road
  }

  let eventLoop: any EventLoop
  let hop: String
  /// On the event loop.
  private(set) var terms: ProxyTerms
  private let traces = TraceSource()
  private let state: Mutex<State>

  var road: Road { state.withLock(\.road) }

  init(
    _ configuration: ProxyConfiguration, _ rules: IngressRules, _ road: Road, hop: String, on eventLoop: any EventLoop
  ) {
    self.eventLoop = eventLoop
    self.hop = hop
    terms = Self.terms(configuration, rules, road, hop: hop, traces: traces, on: eventLoop)
    state = Mutex(State(configuration: configuration, road: road))
  }

  /// The road of another configuration: the same one where that has the same link.
  func road(for configuration: ProxyConfiguration) async throws -> Road {
    let road = road
    if road.link.address == configuration.link.address { return road }
    return try await Road(configuration, hop: hop, on: eventLoop)
  }

  /// What has begun goes on as it began.
  func replace(by configuration: ProxyConfiguration, _ rules: IngressRules, _ road: Road) async throws {
    let before = state.withLock { state in
      defer { state = State(configuration: configuration, road: road) }
      return state
    }
    try await eventLoop.submit {
      self.terms = Self.terms(configuration, rules, road, hop: self.hop, traces: self.traces, on: self.eventLoop)
      if before.road.upstream === road.upstream {
        road.upstream.patience = configuration.patience
      } else {
        before.road.upstream.retire()
      }
    }.get()
    road.open()
    await before.configuration.interceptors.retire(except: configuration.interceptors)
  }

  func shutDown() async {
    let state = state.withLock(\.self)
    for interceptor in state.configuration.interceptors { await interceptor.shutDown() }
    await state.road.shutDown()
  }

  /// For a connection that opens now.
  func server(_ listen: Link, _ logger: Logger) -> ServerConfiguration {
    var server = Self.server(state.withLock(\.configuration), listen, hop: hop, traces: traces)
    server.logger = logger
    return server
  }

  private static func server(
    _ configuration: ProxyConfiguration, _ listen: Link, hop: String, traces: TraceSource
  ) -> ServerConfiguration {
    var server = ServerConfiguration(hop: hop, logger: configuration.logger)
    server.tally = configuration.tally
    server.observation = Observation(configuration.observers, listener: listen.address.text, traces: traces)
    return server
  }

  private static func terms(
    _ configuration: ProxyConfiguration, _ rules: IngressRules, _ road: Road, hop: String, traces: TraceSource,
    on eventLoop: any EventLoop
  ) -> ProxyTerms {
    let link: any ExchangeHandler =
      configuration.termination == nil ? road.upstream : SealedHandler(before: road.upstream)
    let intercepting =
      configuration.interceptors.isEmpty
      ? link
      : InterceptingHandler(
        configuration.interceptors, before: link, on: LoopExecutor(eventLoop),
        destination: { rules.hosts.destination(of: $0) })
    let inspection = configuration.termination.map {
      ProxyTerms.Inspection(
        termination: $0, configuration: server(configuration, configuration.listen, hop: hop, traces: traces))
    }
    return ProxyTerms(
      rules: rules, leadsToGateway: configuration.link.framing == .http2, inspection: inspection,
      next: LastRecipient(of: road.upstream, before: intercepting))
  }
}
