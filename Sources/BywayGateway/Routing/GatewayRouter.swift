import Byway
import HTTPWire
import Logging
import NIOCore

/// Sends each request of a gateway's links to its target, over connections that it keeps. One for each event loop.
final class GatewayRouter: ExchangeHandler {
  /// Targets besides the origin whose connections are kept.
  private static let targetLimit = 64
  private static let responseOption = "--response-timeout"

  private let rules: RoutingRules
  private let configuration: GatewayConfiguration
  private let access: OriginAccess
  private let hop: String
  private let eventLoop: any EventLoop
  private let origin: any ExchangeHandler
  private var servers = RecentlyUsed<Target, any Upstream>(limit: targetLimit)

  init(
    _ configuration: GatewayConfiguration, access: OriginAccess, hop: String, on eventLoop: any EventLoop
  ) throws {
    self.configuration = configuration
    self.access = access
    self.hop = hop
    self.eventLoop = eventLoop
    rules = RoutingRules(configuration)
    origin = try Self.handler(for: configuration.origin, configuration, access, hop: hop, on: eventLoop)
  }

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    do {
      let target = try rules.target(of: request.fields)
      if case .origin = target {} else { request.observed?.clientChoosesUpstream() }
      let handler = try handler(for: target)
      guard configuration.addsForwarded || request.fields.contains(.targetForm) else {
        return handler.begin(request, respondingTo: sink)
      }
      request.fields.remove(.targetForm)
      if configuration.addsForwarded { addForwarded(to: &request.fields) }
      return handler.begin(request, respondingTo: sink)
    } catch {
      sink.fail(BywayError(error))
      return DiscardingRequestSink()
    }
  }

  /// `nil` where the origin is a function.
  var originStatus: UpstreamStatus? { (origin as? any Upstream)?.status }

  /// Others have its place: it serves those that it has, and keeps nothing open that nobody uses.
  func retire() {
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
      return origin
    case .tunnel(let host, let port):
      let server = NamedServer(name: "\(Authority(host, port: port))", source: .client)
      let dialer = try access.dialer(to: .tcp(host: host.text, port: Int(port)), as: server)
      return TunnelUpstream(dialer: dialer, on: eventLoop, connectTimeout: configuration.connectTimeout)
    case .server(let scheme, let host, let port):
      if let server = servers.value(for: target) { return server }
      let address: Origin.Address =
        switch scheme {
        case .https: .tls(host: host.text, port: Int(port), anchors: nil)
        case .http: .tcp(host: host.text, port: Int(port))
        }
      let name = NamedServer(name: "\(scheme)://\(Authority(host, port: port))", source: .client)
      let server = try Self.http1(address, as: name, configuration, access, hop: hop, on: eventLoop)
      servers.insert(server, for: target)?.retire()
      return server
    }
  }

  /// RFC 7239; the client at the far end of a link has no address, so it is `unknown`.
  private func addForwarded(to fields: inout FieldSection) {
    let host = fields.value(of: .authority) ?? fields.value(of: .host) ?? ""
    let scheme = fields.value(of: .scheme) ?? "http"
    let quoted = host.replacing("\\", with: "").replacing("\"", with: "")
    fields.append(.forwarded, "for=unknown;host=\"\(quoted)\";proto=\(scheme)")
  }

  private static func handler(
    for origin: Origin, _ configuration: GatewayConfiguration, _ access: OriginAccess, hop: String,
    on eventLoop: any EventLoop
  ) throws -> any ExchangeHandler {
    switch origin.kind {
    case .handler(let respond):
      return AsyncExchangeHandler(on: LoopExecutor(eventLoop), respond)
    case .http1(let address):
      return try http1(
        address, as: NamedServer(name: origin.text, source: .origin), configuration, access, hop: hop, on: eventLoop)
    case .http2(let address):
      var http2 = HTTP2Upstream.Configuration.defaults
      http2.patience = .zero
      http2.connectTimeout = configuration.connectTimeout
      http2.responseTimeout = configuration.responseTimeout
      http2.responseOption = responseOption
      http2.unavailable = .originUnavailable
      http2.http2 = .init(liveness: configuration.originLiveness)
      return HTTP2Upstream(
        dialer: try access.dialer(to: address, as: NamedServer(name: origin.text, source: .origin)), on: eventLoop,
        hop: hop, configuration: http2, logger: configuration.logger)
    }
  }

  private static func http1(
    _ address: Origin.Address, as server: NamedServer, _ configuration: GatewayConfiguration, _ access: OriginAccess,
    hop: String, on eventLoop: any EventLoop
  ) throws -> any Upstream {
    var http1 = HTTP1Upstream.Configuration.defaults
    http1.maximumConnections = configuration.maximumOriginConnections
    http1.connectTimeout = configuration.connectTimeout
    http1.responseTimeout = configuration.responseTimeout
    http1.responseOption = responseOption
    http1.bodyTimeout = configuration.bodyTimeout
    return try access.upstream(to: address, as: server, on: eventLoop, hop: hop, configuration: http1)
  }
}
