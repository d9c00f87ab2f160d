public import Byway
package import LineLayer
import NIOConcurrencyHelpers
public import NIOCore
public import NIOPosix

/// Runs on the device: accepts HTTP/2 on its links and forwards each request to the origin.
///
/// Safe on any thread. Owns its listeners and every connection until ``stop(within:)`` returns.
public final class Gateway: Sendable {
  private let acceptor: Acceptor
  private let routers: GatewayRouters

  /// The addresses at which it listens, in the order of the configuration's links.
  public var addresses: [LinkAddress] { acceptor.addresses }

  /// Listens on every link.
  ///
  /// One event loop is the default: it carries what a device has, and every link shares one pool of connections to the
  /// origin. With a larger group each loop keeps a pool of its own.
  /// - Throws: `BywayError` where one of them cannot be listened on; the others are closed again.
  public static func start(
    _ configuration: GatewayConfiguration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton.any()
  ) async throws -> Gateway {
    // A bad origin is told now, not with the first request.
    let access = try OriginAccess(configuration)
    _ = try GatewayRouter(configuration, access: access, hop: "", on: group.any())
    let hop = Hop.pseudonym("gateway")
    let routers = GatewayRouters(configuration, access: access, hop: hop)
    let traces = TraceSource()
    let failures = FailureLog(configuration.logger, on: group.any())
    let acceptor = try await Acceptor.start(
      on: configuration.links, group: group, limit: ConnectionLimit(configuration.maximumConnections),
      logger: configuration.logger
    ) { channel, link, logger in
      var server = ServerConfiguration(hop: hop, http2: .init(liveness: configuration.liveness), logger: logger)
      // The origin is near: two exchanges at full speed need no more.
      server.readAhead = 512 << 10
      server.trustsTargetForm = true
      server.failed = { failures.add($0, in: $1) }
      server.observation = Observation(configuration.observers, listener: link.address.text, traces: traces)
      return try HTTP2ServerConnection.start(
        on: channel, handler: routers.handler(on: channel.eventLoop), configuration: server)
    }
    return Gateway(acceptor, routers)
  }

  private init(_ acceptor: Acceptor, _ routers: GatewayRouters) {
    self.acceptor = acceptor
    self.routers = routers
  }

  /// Returns when every link has come to its end: `stdio:` has one, and ``stop(within:)`` makes one.
  /// - Throws: why it cannot accept links any more.
  public func waitUntilEnded() async throws {
    try await acceptor.waitUntilEnded()
  }

  /// What the lines do over which its links go.
  package func lineStatistics() async -> [LineStatistics] { await acceptor.lineStatistics() }

  /// Accepts nothing more, lets running requests finish within that time, then closes what is left.
  public func stop(within patience: TimeAmount) async {
    await acceptor.stop(within: patience)
    await routers.shutDown()
  }
}

/// The ways to the origin, one from each event loop, made when the first link there opens. Safe on any thread.
private final class GatewayRouters: Sendable {
  /// `@unchecked Sendable`: router and handler are touched on their event loop only.
  private struct Entry: @unchecked Sendable {
    let router: GatewayRouter
    let handler: any ExchangeHandler
    let eventLoop: any EventLoop
  }

  private let configuration: GatewayConfiguration
  private let access: OriginAccess
  private let hop: String
  private let entries = NIOLockedValueBox<[ObjectIdentifier: Entry]>([:])

  init(_ configuration: GatewayConfiguration, access: OriginAccess, hop: String) {
    self.configuration = configuration
    self.access = access
    self.hop = hop
  }

  /// On that event loop.
  func handler(on eventLoop: any EventLoop) throws -> any ExchangeHandler {
    let key = ObjectIdentifier(eventLoop)
    if let entry = entries.withLockedValue({ $0[key] }) { return entry.handler }
    let router = try GatewayRouter(configuration, access: access, hop: hop, on: eventLoop)
    let rules = RoutingRules(configuration)
    let handler: any ExchangeHandler =
      configuration.interceptors.isEmpty
      ? router
      : InterceptingHandler(
        configuration.interceptors, before: router, on: LoopExecutor(eventLoop),
        destination: { rules.destination(of: $0) })
    let entry = Entry(router: router, handler: handler, eventLoop: eventLoop)
    entries.withLockedValue { $0[key] = entry }
    return handler
  }

  func shutDown() async {
    for interceptor in configuration.interceptors { await interceptor.shutDown() }
    for entry in entries.withLockedValue({ Array($0.values) }) {
      try? await entry.eventLoop.submit { entry.router.shutDown() }.get()
    }
  }
}
