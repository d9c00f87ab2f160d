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
  private let wayOut: WayOut
  private let interceptors: [any Interceptor]

  /// The address at which it listens, as bound.
  public let address: LinkAddress
  /// The link's; as bound where the gateway dials it.
  public let linkAddress: LinkAddress

  /// Listens. The link is opened by the first request, or by the gateway.
  /// - Throws: `BywayError` where the address cannot be listened on, or a name is none.
  public static func start(
    _ configuration: ProxyConfiguration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
  ) async throws -> Proxy {
    let rules = try IngressRules(
      hosts: HostRules(names: configuration.names), pages: PageRules(allowed: configuration.allowedPages))
    let audience = configuration.listen.transport.audience(of: configuration.listen.address)
    let hop = Hop.pseudonym("proxy")
    let traces = TraceSource()
    let leadsToGateway = configuration.link.framing == .http2
    let eventLoop = group.next()
    let dialer = Dialer(configuration.link, logger: configuration.logger)
    let linkAddress = try await dialer.inbound?.listen(on: eventLoop) ?? configuration.link.address
    let wayOut = WayOut(configuration, rules.hosts, over: dialer, hop: hop, on: eventLoop)
    let acceptor = try await Acceptor.start(
      on: [configuration.listen], group: wayOut.eventLoop, limit: ConnectionLimit(configuration.maximumConnections),
      logger: configuration.logger
    ) { channel, listen, logger in
      var server = ServerConfiguration(hop: hop, logger: logger)
      server.observation = Observation(configuration.observers, listener: listen.address.text, traces: traces)
      let inspection = configuration.termination.map {
        ProxyHandler.Inspection(termination: $0, configuration: server)
      }
      let handler = ProxyHandler(
        audience == .programs ? nil : rules, port: channel.localAddress?.port, leadsToGateway: leadsToGateway,
        inspection: inspection, on: channel.eventLoop, before: wayOut.handler)
      return try IngressConnection.start(on: channel, handler: handler, configuration: server)
    }
    let address = acceptor.addresses.first ?? configuration.listen.address
    if configuration.listen.isOpen(at: address) {
      configuration.logger.warning(
        "Anyone who can reach this address can use the link", metadata: ["address": "\(address)"])
    }
    if dialer.inbound != nil, configuration.link.isOpen(at: linkAddress) {
      configuration.logger.warning(
        "Anyone who can reach this address can answer in the gateway's place", metadata: ["address": "\(linkAddress)"])
    }
    wayOut.open()
    return Proxy(acceptor, wayOut, address, linkAddress, configuration.interceptors)
  }

  private init(
    _ acceptor: Acceptor, _ wayOut: WayOut, _ address: LinkAddress, _ linkAddress: LinkAddress,
    _ interceptors: [any Interceptor]
  ) {
    self.acceptor = acceptor
    self.wayOut = wayOut
    self.interceptors = interceptors
    self.address = address
    self.linkAddress = linkAddress
  }

  /// Returns after ``stop(within:)``.
  /// - Throws: why it cannot accept connections any more.
  public func waitUntilEnded() async throws {
    try await acceptor.waitUntilEnded()
  }

  /// Measures a round trip over the link.
  package func ping() async throws -> TimeAmount { try await wayOut.upstream.ping() }

  /// What the line of its link does; `nil` where it has none, or is down.
  package func lineStatistics() async -> LineStatistics? { await wayOut.upstream.lineStatistics() }

  /// Accepts nothing more, lets running requests finish within that time, then closes what is left, and the link.
  public func stop(within patience: TimeAmount) async {
    await acceptor.stop(within: patience)
    for interceptor in interceptors { await interceptor.shutDown() }
    await wayOut.shutDown()
  }
}

extension Link {
  /// Others than this machine's own programs may come, and nothing tells who they are.
  fileprivate func isOpen(at address: LinkAddress) -> Bool {
    guard transport.audience(of: address) == .anyone, let host = try? address.hostPort().host else { return false }
    return (try? Host(host))?.isLoopback != true
  }
}

/// The way to the gateway that all connections of a proxy share.
///
/// `@unchecked Sendable`: what is not Sendable is touched on `eventLoop` only.
private final class WayOut: @unchecked Sendable {
  let eventLoop: any EventLoop
  let handler: any ExchangeHandler
  let upstream: OwnedUpstream
  private let dialer: Dialer

  init(
    _ configuration: ProxyConfiguration, _ rules: HostRules, over dialer: Dialer, hop: String,
    on eventLoop: any EventLoop
  ) {
    self.eventLoop = eventLoop
    self.dialer = dialer
    let upstream = configuration.link.makeUpstream(
      over: dialer, on: eventLoop, hop: hop, patience: configuration.patience, liveness: configuration.liveness,
      logger: configuration.logger)
    self.upstream = OwnedUpstream(upstream, on: eventLoop)
    let link: any ExchangeHandler = configuration.termination == nil ? upstream : SealedHandler(before: upstream)
    let intercepting =
      configuration.interceptors.isEmpty
      ? link
      : InterceptingHandler(
        configuration.interceptors, before: link, on: LoopExecutor(eventLoop),
        destination: { rules.destination(of: $0) })
    handler = LastRecipient(of: upstream, before: intercepting)
  }

  /// A gateway that dials is answered at once.
  func open() {
    if dialer.inbound != nil { upstream.open() }
  }

  func shutDown() async {
    await upstream.shutDown()
    await dialer.inbound?.close()
  }
}
