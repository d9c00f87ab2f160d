import Byway
import BywayHTTPWire
import Logging
import NIOCore

/// Sends each request from a gateway's links to its target, over pooled connections. One for each event loop.
final class GatewayRouter: ExchangeHandler {
  /// The maximum number of targets, besides the origin, with pooled connections.
  private static let targetLimit = 64

  private let rules: RoutingRules
  private let generation: GatewayRules.Generation
  private var configuration: GatewayConfiguration { generation.configuration }
  private let hop: String
  private let eventLoop: any EventLoop
  private let origin: any ExchangeHandler
  /// The origin, behind a translation of its name if there is one.
  private let translatedOrigin: any ExchangeHandler
  /// The state of this origin that the previous router has seen. It is used until this router has connected itself.
  private var known: UpstreamStatus.State?
  private var servers = RecentlyUsed<Target, any Upstream>(limit: targetLimit)

  init(_ generation: GatewayRules.Generation, hop: String, on eventLoop: any EventLoop) {
    self.generation = generation
    self.hop = hop
    self.eventLoop = eventLoop
    rules = RoutingRules(generation.configuration)
    let configuration = generation.configuration
    let origin = Self.handler(for: generation.origin, configuration, hop: hop, on: eventLoop)
    self.origin = origin
    translatedOrigin =
      configuration.hostField.ownName(of: configuration.origin).map { SiteHandler($0, before: origin) } ?? origin
  }

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    do {
      let target = try rules.target(of: request)
      if case .origin = target {} else { request.observed?.clientChoosesUpstream() }
      let handler = try handler(for: target)
      guard configuration.addsForwarded || request.isAbsolute else {
        return handler.begin(request, respondingTo: sink)
      }
      request.remove(.targetForm)
      if configuration.addsForwarded { addForwarded(to: &request) }
      return handler.begin(request, respondingTo: sink)
    } catch {
      sink.fail(BywayError(error))
      return DiscardingRequestSink()
    }
  }

  /// The status of the origin; `nil` if it is a function.
  var originStatus: UpstreamStatus? {
    guard let status = (origin as? any Upstream)?.status else { return nil }
    if case .idle = status.state, let known { return UpstreamStatus(known) }
    return status
  }

  /// Gives way to a successor: finishes the running exchanges, and closes idle connections.
  func retire(for successor: GatewayRouter) {
    if successor.configuration.origin.text == configuration.origin.text {
      successor.known =
        switch originStatus?.state {
        case .open, .interrupted, .closed: .closed
        case .down(let error): .down(error)
        case .idle, .opening, nil: nil
        }
    }
    (origin as? any Upstream)?.retire()
    for server in servers.values { server.retire() }
  }

  func shutDown() {
    (origin as? any Upstream)?.shutDown()
    for server in servers.values { server.shutDown() }
    servers.removeAll()
  }

  private func handler(for target: Target) throws -> any ExchangeHandler {
    switch target {
    case .origin:
      return translatedOrigin
    case .tunnel(let host, let port):
      let server = NamedServer(name: "\(Authority(host, port: port))", source: .client)
      let dialer = try generation.access.dialer(to: .tcp(host: host.text, port: Int(port)), as: server)
      return ConnectHandler(dialer: dialer, on: eventLoop, connectTimeout: TimeAmount(configuration.connectTimeout))
    case .server(let scheme, let host, let port):
      if let server = servers.value(for: target) { return server }
      let address: Origin.Address =
        switch scheme {
        case .https: .tls(host: host.text, port: Int(port), anchors: nil)
        case .http: .tcp(host: host.text, port: Int(port))
        }
      let name = NamedServer(name: "\(scheme)://\(Authority(host, port: port))", source: .client)
      let way = try generation.access.way(to: address, as: name)
      let server = Self.http1(way, configuration, hop: hop, on: eventLoop)
      servers.insert(server, for: target)?.retire()
      return server
    }
  }

  /// Adds `Forwarded` (RFC 7239). The client on a link has no address, so it is `unknown`.
  private func addForwarded(to request: inout ExchangeHead) {
    let host = request.fields.value(of: .authority) ?? request.fields.value(of: .host) ?? ""
    let quoted = host.replacing("\\", with: "").replacing("\"", with: "")
    request.append(.forwarded, "for=unknown;host=\"\(quoted)\";proto=\(request.schemeName)")
  }

  private static func handler(
    for origin: GatewayRules.Generation.OpenOrigin, _ configuration: GatewayConfiguration, hop: String,
    on eventLoop: any EventLoop
  ) -> any ExchangeHandler {
    switch origin {
    case .handler(let respond):
      return AsyncExchangeHandler(on: LoopExecutor(eventLoop), respond)
    case .http1(let way):
      return http1(way, configuration, hop: hop, on: eventLoop)
    case .http2(let dialer):
      var http2 = HTTP2Upstream.Configuration.defaults
      http2.patience = .zero
      http2.connectTimeout = TimeAmount(configuration.connectTimeout)
      http2.responseTimeout = TimeAmount(configuration.responseTimeout)
      http2.responseOption = "\(Advice.raise(.responseTimeout))"
      http2.unavailable = .originUnavailable
      http2.http2 = .init(liveness: configuration.originLiveness)
      return HTTP2Upstream(
        dialer: dialer, on: eventLoop, hop: hop, configuration: http2, logger: configuration.logger)
    }
  }

  private static func http1(
    _ way: OriginAccess.Way, _ configuration: GatewayConfiguration, hop: String, on eventLoop: any EventLoop
  ) -> any Upstream {
    var http1 = HTTP1Upstream.Configuration.defaults
    http1.maximumConnections = configuration.maximumOriginConnections
    http1.connectTimeout = TimeAmount(configuration.connectTimeout)
    http1.responseTimeout = TimeAmount(configuration.responseTimeout)
    http1.responseOption = "\(Advice.raise(.responseTimeout))"
    http1.bodyTimeout = configuration.bodyTimeout.map { TimeAmount($0) }
    http1.capitalizesFieldNames = configuration.capitalizesFieldNames
    return way.upstream(on: eventLoop, hop: hop, configuration: http1)
  }
}
