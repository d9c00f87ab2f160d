public import Byway
package import BywayLineLayer
public import NIOCore
public import NIOPosix

/// A gateway on the device: accepts HTTP/2 and HTTP/1.1 on its links, and forwards each request to the origin.
///
/// Safe on any thread. Owns its listeners and every connection until ``stop(within:)`` returns.
public final class Gateway: Sendable {
  private let acceptor: Acceptor
  private let rules: GatewayRules
  private let group: any EventLoopGroup

  /// The links of its configuration.
  package var links: [Link] { rules.links }
  /// The addresses at which it listens, in the order of the configuration's links.
  public var addresses: [LinkAddress] { acceptor.addresses }
  /// The addresses, each with the state of its link.
  package var endpoints: [(address: LinkAddress, state: ServedLinkState)] { acceptor.endpoints }

  /// Starts a gateway, which listens on every link.
  ///
  /// The default is one event loop: it suffices for a device, and all links share one pool of connections to the origin.
  /// With a larger group each loop has its own pool.
  /// - Throws: `BywayError` if it cannot listen on one of them; the others are closed again.
  public static func start(
    _ configuration: GatewayConfiguration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton.any()
  ) async throws -> Gateway {
    let gateway = try Gateway(configuration, group: group)
    try await gateway.open().complete(within: .zero)
    return gateway
  }

  /// Makes a gateway that does not listen yet: ``open(besides:)`` does.
  /// - Throws: `BywayError` if the origin cannot be used.
  package init(_ configuration: GatewayConfiguration, group: any EventLoopGroup) throws {
    let rules = try GatewayRules(configuration, hop: Hop.pseudonym("gateway"), on: group.any())
    self.rules = rules
    self.group = group
    acceptor = Acceptor(
      group: group, limit: ConnectionLimit(configuration.maximumConnections), logger: configuration.logger
    ) { channel, link, logger in
      try IngressConnection.start(
        on: channel, at: .link, handler: rules.handler(on: channel.eventLoop),
        configuration: rules.server(link, of: channel, logger))
    }
  }

  /// Opens the links of its configuration.
  /// - Parameter held: as in ``prepare(_:besides:)``.
  /// - Throws: `BywayError` if it cannot listen on one of them.
  package func open(besides held: Set<String> = []) async throws -> Changeover {
    try await acceptor.prepare(rules.links, besides: held)
  }

  /// Switches to another configuration without an outage. One call at a time.
  ///
  /// Links that are in both configurations stay open. Running exchanges continue under the old one; every later request uses the
  /// new one. `maximumConnections` does not change.
  /// - Parameters:
  ///   - configuration: the new configuration.
  ///   - patience: how long requests from a removed link may continue.
  /// - Throws: `BywayError` if it cannot listen on a link, or the origin cannot be used. Then nothing has changed.
  public func reload(_ configuration: GatewayConfiguration, within patience: Duration) async throws {
    try await prepare(configuration).complete(within: TimeAmount(patience))
  }

  /// Opens the links that another configuration needs. It takes effect when the changeover is committed. One call at a time.
  /// - Parameter held: addresses still held by other servers that change at the same time.
  /// - Throws: `BywayError` if it cannot listen on a link, or the origin cannot be used. Then nothing has changed.
  package func prepare(
    _ configuration: GatewayConfiguration, besides held: Set<String> = []
  ) async throws -> Changeover {
    let next = try GatewayRules.Generation(configuration)
    return try await acceptor.prepare(
      configuration.links, besides: held, Changeover.Rest(commit: { await self.rules.replace(by: next) }))
  }

  /// Prepares to release addresses that other servers need, before ``stop(within:)``.
  package func prepareToLeave() -> Changeover { acceptor.prepareToLeave() }

  /// Returns when every link has ended: a `stdio:` link ends by itself, all others with ``stop(within:)``.
  /// - Throws: the reason that it cannot accept links any more.
  public func waitUntilEnded() async throws {
    try await acceptor.waitUntilEnded()
  }

  /// Returns the links that are open now.
  package func openLinks() async -> [ServedLink] { await acceptor.connections() }

  /// The target of requests.
  package var origin: Origin { rules.origin }

  /// Returns the state of the connection to the origin; `nil` if no request has needed it yet.
  package func originStatus() async -> UpstreamStatus? { await rules.originStatus() }

  /// Returns the statistics of the lines that carry its links.
  package func lineStatistics() async -> [LineStatistics] { await acceptor.lineStatistics() }

  /// Accepts no more links, lets running requests finish within that time, then closes the remaining connections.
  public func stop(within patience: Duration) async {
    await acceptor.stop(within: TimeAmount(patience))
    await rules.shutDown()
  }
}
