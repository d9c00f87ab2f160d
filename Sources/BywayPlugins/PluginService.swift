import Byway
import BywayProxy
import HTTPTypes
import Logging
import NIOCore

/// The connections to a plugin, and the server at which it sends requests on.
final class PluginService: Sendable {
  /// The maximum number of the plugin's connections to its next hop.
  private static let connectionLimit = 1024
  /// How long exchanges may continue after the plugin was removed.
  private static let drain = TimeAmount.seconds(30)

  let client: ExchangeClient
  let executor: LoopExecutor
  /// The address of the next hop.
  let next: String
  let exchanges: PluginExchanges
  private let upstream: OwnedUpstream
  private let acceptor: Acceptor

  /// Listens at the next hop. The plugin is dialed by the first request.
  /// - Parameter timeout: the time that the plugin may take, half of it to start.
  static func start(
    _ place: Plugin.Place, timeout: TimeAmount, on eventLoop: any EventLoop
  ) async throws -> PluginService {
    let exchanges = PluginExchanges()
    let executor = LoopExecutor(eventLoop)
    let hop = Hop.pseudonym("plugin")
    let acceptor = try await Acceptor.start(
      on: [place.next], group: eventLoop, limit: ConnectionLimit(connectionLimit), logger: place.logger
    ) { channel, _, logger in
      var configuration = ServerConfiguration(hop: hop, logger: logger)
      // It may pass on the marks of an upgrade, which the serving connection has made.
      configuration.trustsTargetForm = true
      configuration.upgrades = UpgradeRules(allowing: place.upgrades)
      return try IngressConnection.start(
        on: channel,
        handler: AsyncExchangeHandler(on: executor, isLast: false) { try await exchanges.forward($0) },
        configuration: configuration)
    }
    let patience = TimeAmount.nanoseconds(timeout.nanoseconds / 2)
    return PluginService(place, exchanges, acceptor, executor, patience: patience)
  }

  private init(
    _ place: Plugin.Place, _ exchanges: PluginExchanges, _ acceptor: Acceptor, _ executor: LoopExecutor,
    patience: TimeAmount
  ) {
    self.exchanges = exchanges
    self.acceptor = acceptor
    next = acceptor.addresses.first?.place ?? place.next.address.place
    let dialer = Dialer(place.link, environment: ["BYWAY_NEXT": next], logger: place.logger)
    let upstream = Self.upstream(place, dialer, patience, on: executor.eventLoop)
    self.upstream = OwnedUpstream(upstream, on: executor.eventLoop)
    self.executor = executor
    client = ExchangeClient(upstream, on: executor)
  }

  private static func upstream(
    _ place: Plugin.Place, _ dialer: Dialer, _ patience: TimeAmount, on eventLoop: any EventLoop
  ) -> any Upstream {
    // A program is started again until then. A server that is down is a failure at once, but may be slow to answer.
    let isProgram = place.link.address.scheme == "exec"
    switch place.link.framing {
    case .http1:
      var configuration = HTTP1Upstream.Configuration.defaults
      configuration.patience = isProgram ? patience : .zero
      configuration.connectTimeout = patience
      // The plugin waits for the target, whose own deadlines count.
      configuration.responseTimeout = .hours(24)
      configuration.bodyTimeout = nil
      return HTTP1Upstream(
        dialer: dialer, on: eventLoop, hop: nil, configuration: configuration, logger: place.logger)
    case .http2:
      var configuration = HTTP2Upstream.Configuration.defaults
      configuration.patience = isProgram ? patience : .zero
      configuration.connectTimeout = patience
      configuration.farEnd = .gateway
      return HTTP2Upstream(
        dialer: dialer, on: eventLoop, hop: nil, configuration: configuration, logger: place.logger)
    }
  }

  func stop() async {
    await upstream.shutDown()
    await acceptor.stop(within: Self.drain)
  }
}
