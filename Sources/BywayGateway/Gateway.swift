public import Byway
package import LineLayer
public import NIOCore
public import NIOPosix

/// Runs on the device: accepts HTTP/2 on its links and forwards each request to the origin.
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
  /// The same, with why nobody can come there.
  package var entrances: [(address: LinkAddress, obstacle: String?)] { acceptor.entrances }

  /// Listens on every link.
  ///
  /// One event loop is the default: it carries what a device has, and every link shares one pool of connections to the
  /// origin. With a larger group each loop keeps a pool of its own.
  /// - Throws: `BywayError` where one of them cannot be listened on; the others are closed again.
  public static func start(
    _ configuration: GatewayConfiguration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton.any()
  ) async throws -> Gateway {
    let gateway = try Gateway(configuration, group: group)
    try await gateway.open().complete(within: .zero)
    return gateway
  }

  /// One that listens nowhere yet: ``open(besides:)`` does.
  /// - Throws: `BywayError` where the origin cannot be used.
  package init(_ configuration: GatewayConfiguration, group: any EventLoopGroup) throws {
    let rules = try GatewayRules(configuration, hop: Hop.pseudonym("gateway"), on: group.any())
    self.rules = rules
    self.group = group
    acceptor = Acceptor(
      group: group, limit: ConnectionLimit(configuration.maximumConnections), logger: configuration.logger
    ) { channel, link, logger in
      HTTP2ServerConnection.start(
        on: channel, handler: rules.handler(on: channel.eventLoop), configuration: rules.server(link, logger))
    }
  }

  /// Opens the links of its configuration.
  /// - Parameter held: as ``prepare(_:besides:)`` has it.
  /// - Throws: `BywayError` where one of them cannot be listened on.
  package func open(besides held: Set<String> = []) async throws -> Changeover {
    try await acceptor.prepare(rules.links, besides: held)
  }

  /// Goes over to another configuration without an outage. One call at a time.
  ///
  /// Links that are in both stay open, and what is running goes on as it began; every request that begins afterwards goes by the
  /// new configuration. `maximumConnections` stays as it was.
  /// - Parameters:
  ///   - configuration: what counts from now on.
  ///   - patience: how long requests may go on that came by a link which is no longer there.
  /// - Throws: `BywayError` where a link cannot be listened on or the origin cannot be used. Then nothing has changed.
  public func reload(_ configuration: GatewayConfiguration, within patience: TimeAmount) async throws {
    try await prepare(configuration).complete(within: patience)
  }

  /// Opens what another configuration needs, which counts when the changeover is committed. One call at a time.
  /// - Parameter held: places that others hold who change at the same time.
  /// - Throws: `BywayError` where a link cannot be listened on or the origin cannot be used. Then nothing has changed.
  package func prepare(
    _ configuration: GatewayConfiguration, besides held: Set<String> = []
  ) async throws -> Changeover {
    let next = try GatewayRules.Generation(configuration)
    return try await acceptor.prepare(
      configuration.links, besides: held, Changeover.Rest(commit: { await self.rules.replace(by: next) }))
  }

  /// To leave places that others want, before ``stop(within:)``.
  package func prepareToLeave() -> Changeover { acceptor.prepareToLeave() }

  /// Returns when every link has come to its end: `stdio:` has one, and ``stop(within:)`` makes one.
  /// - Throws: why it cannot accept links any more.
  public func waitUntilEnded() async throws {
    try await acceptor.waitUntilEnded()
  }

  /// The links that are open now.
  package func openLinks() async -> [ServedLink] { await acceptor.connections() }

  /// Where requests go.
  package var origin: Origin { rules.origin }

  /// How the way to the origin is; `nil` where nobody has asked for it yet.
  package func originStatus() async -> UpstreamStatus? { await rules.originStatus() }

  /// What the lines do over which its links go.
  package func lineStatistics() async -> [LineStatistics] { await acceptor.lineStatistics() }

  /// Accepts nothing more, lets running requests finish within that time, then closes what is left.
  public func stop(within patience: TimeAmount) async {
    await acceptor.stop(within: patience)
    await rules.shutDown()
  }
}
