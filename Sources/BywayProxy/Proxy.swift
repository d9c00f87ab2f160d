public import Byway
import HTTPWire
package import LineLayer
import Logging
public import NIOCore
public import NIOPosix

/// Runs at the user's end: takes HTTP/1.1, HTTP/2 with prior knowledge, CONNECT and WebSocket on one address, and sends
/// each request over the link.
///
/// The link and every connection that uses it live on one event loop. Safe on any thread.
public final class Proxy: Sendable {
  private let acceptor: Acceptor
  private let way: ProxyWay

  /// The address at which it listens, as bound.
  public var address: LinkAddress { acceptor.addresses[0] }
  /// The link's; as bound where the gateway dials it.
  public var linkAddress: LinkAddress { way.road.address }

  /// Listens. The link is opened by the first request, or by the gateway.
  /// - Throws: `BywayError` where the address cannot be listened on, or a name is none.
  public static func start(
    _ configuration: ProxyConfiguration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
  ) async throws -> Proxy {
    let rules = try IngressRules(configuration)
    let hop = Hop.pseudonym("proxy")
    let eventLoop = group.next()
    let road = try await ProxyWay.Road(configuration, hop: hop, on: eventLoop)
    let way = ProxyWay(configuration, rules, road, hop: hop, on: eventLoop)
    do {
      let acceptor = try await Acceptor.start(
        on: [configuration.listen], group: eventLoop, limit: ConnectionLimit(configuration.maximumConnections),
        logger: configuration.logger
      ) { channel, listen, logger in
        let handler = ProxyHandler(
          way, for: listen.transport.audience(of: listen.address), port: channel.localAddress?.port)
        return try IngressConnection.start(on: channel, handler: handler, configuration: way.server(listen, logger))
      }
      let proxy = Proxy(acceptor, way)
      proxy.warnIfOpen(configuration)
      road.open()
      return proxy
    } catch {
      await road.shutDown()
      throw error
    }
  }

  private init(_ acceptor: Acceptor, _ way: ProxyWay) {
    self.acceptor = acceptor
    self.way = way
  }

  private func warnIfOpen(_ configuration: ProxyConfiguration) {
    if configuration.listen.isOpen(at: address) {
      configuration.logger.warning(
        "Anyone who can reach this address can use the link", metadata: ["address": "\(address)"])
    }
    if way.road.dialer.inbound != nil, configuration.link.isOpen(at: linkAddress) {
      configuration.logger.warning(
        "Anyone who can reach this address can answer in the gateway's place", metadata: ["address": "\(linkAddress)"])
    }
  }

  /// Goes over to another configuration without an outage. One call at a time.
  ///
  /// An address and a link that stay the same keep their connections, and what is running goes on as it began; every request
  /// that begins afterwards goes by the new configuration. `maximumConnections` stays as it was.
  /// - Parameters:
  ///   - configuration: what counts from now on.
  ///   - patience: how long clients of an address that is no longer listened on may go on.
  /// - Throws: `BywayError` where an address cannot be listened on, or a name is none. Then nothing has changed.
  public func reload(_ configuration: ProxyConfiguration, within patience: TimeAmount) async throws {
    let rules = try IngressRules(configuration)
    let road = try await way.road(for: configuration)
    do {
      try await acceptor.reload([configuration.listen], within: patience) {
        try await self.way.replace(by: configuration, rules, road)
      }
    } catch {
      if road.upstream !== way.road.upstream { await road.shutDown() }
      throw error
    }
    warnIfOpen(configuration)
  }

  /// Returns after ``stop(within:)``.
  /// - Throws: why it cannot accept connections any more.
  public func waitUntilEnded() async throws {
    try await acceptor.waitUntilEnded()
  }

  /// Measures a round trip over the link.
  package func ping() async throws -> TimeAmount { try await way.road.owned.ping() }

  /// How its link is now.
  package func linkStatus() async -> UpstreamStatus { await way.road.owned.status() }

  /// The gateway dials.
  package var isDialed: Bool { way.road.dialer.inbound != nil }

  /// What the line of its link does; `nil` where it has none, or is down.
  package func lineStatistics() async -> LineStatistics? { await way.road.owned.lineStatistics() }

  /// Accepts nothing more, lets running requests finish within that time, then closes what is left, and the link.
  public func stop(within patience: TimeAmount) async {
    await acceptor.stop(within: patience)
    await way.shutDown()
  }
}

extension IngressRules {
  fileprivate init(_ configuration: ProxyConfiguration) throws {
    try self.init(hosts: HostRules(names: configuration.names), pages: PageRules(allowed: configuration.allowedPages))
  }
}

extension Link {
  /// Others than this machine's own programs may come, and nothing tells who they are.
  fileprivate func isOpen(at address: LinkAddress) -> Bool {
    guard transport.audience(of: address) == .anyone, let host = try? address.hostPort().host else { return false }
    return (try? Host(host))?.isLoopback != true
  }
}
