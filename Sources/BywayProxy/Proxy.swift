public import Byway
package import BywayDevices
import BywayHTTPWire
package import BywayLineLayer
import Logging
public import NIOCore
public import NIOPosix

/// A proxy at the user's end: accepts HTTP/1.1, HTTP/2 with prior knowledge, CONNECT and WebSocket on one address, and sends
/// each request over the link.
///
/// The link and every connection that uses it live on one event loop. Safe on any thread.
public final class Proxy: Sendable {
  private let acceptor: Acceptor
  let shared: ProxyState
  private let announcer: Announcer

  /// The address at which it listens, as bound.
  public var address: LinkAddress { acceptor.addresses.first ?? shared.listen }

  /// The same address as configured.
  package var configuredAddress: LinkAddress { shared.listen }

  /// The default device's link, as bound if the gateway dials it; `nil` if there is none.
  public var linkAddress: LinkAddress? {
    get async { await devices().first { $0.name == nil }?.addresses.first }
  }

  /// Starts a proxy. A device's link is opened by the first request for it, or by its gateway.
  /// - Throws: `BywayError` if it cannot listen on an address, or a name is invalid.
  public static func start(
    _ configuration: ProxyConfiguration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
  ) async throws -> Proxy {
    let proxy = try Proxy(configuration, group: group)
    try await proxy.open().complete(within: .zero)
    return proxy
  }

  /// Makes a proxy that does not listen yet: ``open(besides:)`` does.
  /// - Throws: `BywayError` if a name is invalid.
  package init(_ configuration: ProxyConfiguration, group: any EventLoopGroup) throws {
    let eventLoop = group.next()
    let shared = try ProxyState(configuration, on: eventLoop)
    self.shared = shared
    announcer = Announcer(shared.devices)
    acceptor = Acceptor(
      group: eventLoop, limit: ConnectionLimit(configuration.maximumConnections), logger: configuration.logger
    ) { channel, listen, logger in
      let handler = ProxyHandler(shared, by: ConnectionContext(channel, by: listen))
      return try IngressConnection.start(
        on: channel, handler: handler, configuration: shared.server(listen, of: channel, logger))
    }
  }

  /// Opens the addresses of its configuration.
  /// - Parameter held: as in ``prepare(_:besides:)``.
  /// - Throws: `BywayError` if it cannot listen on one of them.
  package func open(besides held: Set<String> = []) async throws -> Changeover {
    try await changeover(to: try await shared.open(), besides: held)
  }

  private func warnIfOpen(_ configuration: ProxyConfiguration) async {
    if configuration.users == nil, configuration.listen.isOpen(at: address) {
      configuration.logger.warning(
        "Anyone who can reach this address can use the devices behind it", metadata: ["address": "\(address)"])
    }
    for hub in configuration.devices.hubs where hub.isOpen(at: hub.address) {
      configuration.logger.warning(
        "Anyone who can reach this address can become a device", metadata: ["address": "\(hub.address)"])
    }
    let inbound = configuration.devices.ownLinks.filter { $0.opening == .listen }
    guard !inbound.isEmpty else { return }
    for device in await devices() where device.isInbound {
      guard let place = device.addresses.first, let link = inbound.first(where: { $0.address.scheme == place.scheme }),
        link.isOpen(at: place)
      else { continue }
      configuration.logger.warning(
        "Anyone who can reach this address can answer in the gateway's place", metadata: ["address": "\(place)"])
    }
  }

  /// Switches to another configuration without an outage. One call at a time.
  ///
  /// An unchanged address or link keeps its connections. Running exchanges continue under the old configuration; every later
  /// request uses the new one. `maximumConnections` does not change.
  /// - Parameters:
  ///   - configuration: the new configuration.
  ///   - patience: how long clients of a closed address may continue.
  /// - Throws: `BywayError` if it cannot listen on an address, or a name is invalid. Then nothing has changed.
  public func reload(_ configuration: ProxyConfiguration, within patience: Duration) async throws {
    try await prepare(configuration).complete(within: TimeAmount(patience))
  }

  /// Opens the sockets that another configuration needs. It takes effect when the changeover is committed. One call at a time.
  /// - Parameter held: addresses still held by other servers that change at the same time.
  /// - Throws: `BywayError` if it cannot listen on an address, or a name is invalid. Then nothing has changed.
  package func prepare(
    _ configuration: ProxyConfiguration, besides held: Set<String> = []
  ) async throws -> Changeover {
    try await changeover(to: try await shared.prepare(configuration), besides: held)
  }

  private func changeover(to next: ProxyState.Preparation, besides held: Set<String>) async throws -> Changeover {
    let rest = Changeover.Rest {
      await self.shared.commit(next)
      await self.warnIfOpen(next.configuration)
      await self.announcer.announce(
        by: next.configuration.announcement, at: self.address, logger: next.configuration.logger)
    } cancel: {
      await self.shared.devices.cancel(next.devices)
    }
    return try await acceptor.prepare([next.configuration.listen], besides: held, rest)
  }

  /// Prepares to release addresses that other servers need, before ``stop(within:)``.
  package func prepareToLeave() -> Changeover { acceptor.prepareToLeave() }

  /// Returns after ``stop(within:)``.
  /// - Throws: the reason that it cannot accept connections any more.
  public func waitUntilEnded() async throws {
    try await acceptor.waitUntilEnded()
  }

  /// Measures a round trip to a device; `nil`: to the default one.
  package func ping(_ device: DeviceName? = nil) async throws -> TimeAmount { try await shared.devices.ping(device) }

  /// Sends a request like an admitted request of a client.
  /// - Parameter listener: the name that observers get instead of an address.
  package func send(_ request: Request, from listener: String) async throws -> Response {
    try await shared.send(request, from: listener)
  }

  /// Reports the state of the links to its devices: the default device's first, those of patterns only while they are open.
  public func links() async -> [LinkReport] { await shared.devices.reports() }

  /// Reports the same at first and after each change; a line's counters change with each frame.
  /// - Parameter pause: the time between two checks while a reader waits for the next element.
  public func linkChanges(lookingEvery pause: Duration = .seconds(1)) -> LinkChanges {
    LinkChanges(every: pause) { [shared] in await shared.devices.reports() }
  }

  /// Lists the devices with their current state.
  package func devices() async -> [DeviceEntry] { await shared.devices.entries() }

  /// Reports the state of its hubs, in the order of the configuration.
  package func hubs() async -> [HubReport] { await shared.devices.hubReports() }

  /// Returns the line statistics of the default device's link; `nil` if the link has no line or is down.
  package func lineStatistics() async -> LineStatistics? { await shared.devices.lineStatistics() }

  /// Accepts no more connections, lets running requests finish within that time, then closes remaining connections and the link.
  public func stop(within patience: Duration) async {
    await announcer.stop()
    shared.endEvents()
    await acceptor.stop(within: TimeAmount(patience))
    await shared.shutDown()
  }
}

extension Link {
  /// Whether clients from other machines can connect without identifying themselves.
  fileprivate func isOpen(at address: LinkAddress) -> Bool {
    guard transport.audience(of: address) == .anyone, let host = try? address.hostPort().host else { return false }
    return (try? Host(host))?.isLoopback != true
  }
}
