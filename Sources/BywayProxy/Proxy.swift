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
  let way: ProxyWay
  private let announcer: Announcer

  /// The address at which it listens, as bound.
  public var address: LinkAddress { acceptor.addresses.first ?? way.listen }

  /// The same, as it was written.
  package var configuredAddress: LinkAddress { way.listen }

  /// The default device's link, as bound where the gateway dials it; `nil` where there is none.
  public var linkAddress: LinkAddress? {
    get async { await devices().first { $0.name == nil }?.addresses.first }
  }

  /// Listens. A device's link is opened by the first request for it, or by its gateway.
  /// - Throws: `BywayError` where an address cannot be listened on, or a name is none.
  public static func start(
    _ configuration: ProxyConfiguration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
  ) async throws -> Proxy {
    let proxy = try Proxy(configuration, group: group)
    try await proxy.open().complete(within: .zero)
    return proxy
  }

  /// One that listens nowhere yet: ``open(besides:)`` does.
  /// - Throws: `BywayError` where a name is none.
  package init(_ configuration: ProxyConfiguration, group: any EventLoopGroup) throws {
    let eventLoop = group.next()
    let way = try ProxyWay(configuration, on: eventLoop)
    self.way = way
    announcer = Announcer(way.devices)
    acceptor = Acceptor(
      group: eventLoop, limit: ConnectionLimit(configuration.maximumConnections), logger: configuration.logger
    ) { channel, listen, logger in
      let handler = ProxyHandler(way, by: Entrance(channel, by: listen))
      return try IngressConnection.start(on: channel, handler: handler, configuration: way.server(listen, logger))
    }
  }

  /// Opens the addresses of its configuration.
  /// - Parameter held: as ``prepare(_:besides:)`` has it.
  /// - Throws: `BywayError` where one of them cannot be listened on.
  package func open(besides held: Set<String> = []) async throws -> Changeover {
    try await changeover(to: try await way.open(), besides: held)
  }

  private func warnIfOpen(_ configuration: ProxyConfiguration) async {
    if configuration.users == nil, configuration.listen.isOpen(at: address) {
      configuration.logger.warning(
        "Anyone who can reach this address can use the devices behind it", metadata: ["address": "\(address)"])
    }
    let inbound = configuration.devices.links.filter { $0.opening == .listen }
    guard !inbound.isEmpty else { return }
    for device in await devices() where device.isInbound {
      guard let place = device.addresses.first, let link = inbound.first(where: { $0.address.scheme == place.scheme }),
        link.isOpen(at: place)
      else { continue }
      configuration.logger.warning(
        "Anyone who can reach this address can answer in the gateway's place", metadata: ["address": "\(place)"])
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
    try await prepare(configuration).complete(within: patience)
  }

  /// Opens what another configuration needs, which counts when the changeover is committed. One call at a time.
  /// - Parameter held: places that others hold who change at the same time.
  /// - Throws: `BywayError` where an address cannot be listened on, or a name is none. Then nothing has changed.
  package func prepare(
    _ configuration: ProxyConfiguration, besides held: Set<String> = []
  ) async throws -> Changeover {
    try await changeover(to: try await way.prepare(configuration), besides: held)
  }

  private func changeover(to next: ProxyWay.Preparation, besides held: Set<String>) async throws -> Changeover {
    let rest = Changeover.Rest {
      await self.way.commit(next)
      await self.warnIfOpen(next.configuration)
      await self.announcer.announce(
        by: next.configuration.announcement, at: self.address, logger: next.configuration.logger)
    } abandon: {
      await self.way.devices.abandon(next.devices)
    }
    return try await acceptor.prepare([next.configuration.listen], besides: held, rest)
  }

  /// To leave places that others want, before ``stop(within:)``.
  package func prepareToLeave() -> Changeover { acceptor.prepareToLeave() }

  /// Returns after ``stop(within:)``.
  /// - Throws: why it cannot accept connections any more.
  public func waitUntilEnded() async throws {
    try await acceptor.waitUntilEnded()
  }

  /// Measures a round trip to a device; `nil`: to the default one.
  package func ping(_ device: DeviceName? = nil) async throws -> TimeAmount { try await way.devices.ping(device) }

  /// Sends a request as if a client had been let in with it.
  /// - Parameter listener: what observers are told in the place of an address.
  package func send(_ request: Request, from listener: String) async throws -> Response {
    try await way.send(request, from: listener)
  }

  /// How the links to its devices are now: the default device's first, those of patterns as far as they are open.
  public func links() async -> [LinkReport] { await way.devices.linkReports() }

  /// The same, at first and whenever they have changed; a line's counters change with each frame.
  /// - Parameter pause: between two looks, while somebody waits for the next element.
  public func linkChanges(lookingEvery pause: Duration = .seconds(1)) -> LinkChanges {
    LinkChanges(every: pause) { [way] in await way.devices.linkReports() }
  }

  /// The devices that there are, and how they are now.
  package func devices() async -> [DeviceEntry] { await way.devices.entries() }

  /// What the line of the default device's link does; `nil` where it has none, or is down.
  package func lineStatistics() async -> LineStatistics? { await devices().first { $0.name == nil }?.status.line }

  /// Accepts nothing more, lets running requests finish within that time, then closes what is left, and the link.
  public func stop(within patience: TimeAmount) async {
    await announcer.stop()
    way.endEvents()
    await acceptor.stop(within: patience)
    await way.shutDown()
  }
}

extension Link {
  /// Others than this machine's own programs may come, and nothing tells who they are.
  fileprivate func isOpen(at address: LinkAddress) -> Bool {
    guard transport.audience(of: address) == .anyone, let host = try? address.hostPort().host else { return false }
    return (try? Host(host))?.isLoopback != true
  }
}
