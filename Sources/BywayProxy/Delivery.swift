import Byway
import BywayHTTPWire
import NIOCore

/// Sends admitted requests to their targets, if their users have the right to them. Used on the proxy's event loop.
struct Delivery {
  let shared: ProxyState
  let context: ConnectionContext

  /// Begins a request. If the proxy has users, the request's user must have been identified.
  /// - Parameter exchange: the exchange of the request.
  func begin(_ request: ExchangeHead, for proxyTarget: ProxyTarget, through exchange: UserExchange) {
    let terms = shared.terms
    let resource = proxyTarget.resource(hasMain: terms.hasMain)
    guard let users = terms.users else {
      // A reload has removed the users since the request came.
      return exchange.begin(
        request, as: .init(user: request.user, resource: resource),
        with: { request, sink throws(BywayError) in
          try begin(request, for: proxyTarget, by: terms, respondingTo: sink)
        }, ended: { _ in })
    }
    guard case .user(let user, _) = request.user else { return exchange.refuse { $0.fail(Refusal.loginRequired) } }
    request.observed?.identified(as: user)
    if let resource, !users.rules.rights.allow(user, resource) {
      return refuse(user, resource, users, exchange)
    }
    let shared = shared
    let peer = context.peer
    shared.sessions.insert(exchange)
    exchange.begin(request, as: .init(user: request.user, resource: resource)) {
      request, sink throws(BywayError) in
      do throws(BywayError) {
        // A device that does not exist is not recorded as used.
        if case .device(let name) = proxyTarget {
          _ = try shared.devices.device(named: name, at: request.authority?.port)
        }
        if let resource { shared.audit.began(request.user, resource, from: peer) }
        return try begin(request, for: proxyTarget, by: terms, respondingTo: sink)
      } catch {
        // A device that does not exist gets the same answer as one without a right to it.
        guard error.code == .misdirected, let resource else { throw error }
        throw Refusal.mayNot(user, resource, nearest: nearest(to: resource, for: user, users))
      }
    } ended: { exchange in
      shared.sessions.remove(exchange)
      if let resource, let user = exchange.use?.user { shared.audit.ended(user, resource) }
    }
  }

  private func refuse(_ user: UserName, _ resource: Resource, _ users: UserAuthenticator, _ exchange: UserExchange) {
    shared.audit.refused(.noRight, user.text, resource, from: context.peer)
    let error = Refusal.mayNot(user, resource, nearest: nearest(to: resource, for: user, users))
    exchange.refuse { $0.fail(error) }
  }

  /// The most similar name among the devices that the user may use.
  private func nearest(to resource: Resource, for user: UserName, _ users: UserAuthenticator) -> String? {
    guard case .device(let name) = resource else { return nil }
    return shared.devices.nearest(to: name) { users.rules.rights.allow(user, .device($0)) }
  }

  /// Begins a request without checking its user: the proxy has no users, or the user's right has been checked.
  func begin(
    _ request: consuming ExchangeHead, for proxyTarget: ProxyTarget, by terms: ProxyTerms,
    respondingTo sink: any ResponseSink
  ) throws(BywayError) -> any RequestSink {
    // Looked up first, so that interceptors do not answer for a device that does not exist.
    if case .device(let name) = proxyTarget {
      request.device = try shared.devices.device(named: name, at: request.authority?.port)
      request.observed?.selected(.init(name.text, isConfigured: shared.devices.directory[name] != nil))
    }
    let isTunnel = request.kind == .connect
    switch proxyTarget {
    case .proxy where terms.hasMain: return terms.next.begin(request, respondingTo: sink)
    case .proxy, .frontPage: return shared.frontPage.begin(request, respondingTo: sink)
    case .device:
      return isTunnel
        ? try deviceTunnel(request, for: proxyTarget, by: terms, respondingTo: sink)
        : terms.next.begin(request, respondingTo: sink)
    case .elsewhere:
      guard terms.hasMain else { throw Self.noDefault }
      if !terms.leadsToGateway { throw Self.noGateway }
      return isTunnel
        ? gatewayTunnel(request, by: terms, respondingTo: sink)
        : terms.next.begin(request, respondingTo: sink)
    }
  }

  // MARK: Tunnels

  /// Opens a tunnel to a gateway, and inspects its content where the configuration requires it.
  private func gatewayTunnel(
    _ request: ExchangeHead, by terms: ProxyTerms, respondingTo sink: any ResponseSink
  ) -> any RequestSink {
    let next = terms.next
    guard let target = request.authority else {
      return next.begin(request, respondingTo: sink)
    }
    let pages = context.isJudged(terms.users?.rules) ? terms.rules.pages : nil
    if let termination = terms.termination, termination.terminates(target.host) {
      guard let slot = shared.tunnels.take(for: ClientKey(of: request)) else {
        sink.fail(Self.tooManyTunnels)
        return DiscardingRequestSink()
      }
      let tunnel = InterceptedTunnel(
        request, to: target, by: termination, serving: tunnels(of: request, by: terms),
        inside(target, "https", for: .elsewhere, from: request), pages: pages,
        on: shared.eventLoop, before: next, respondingTo: sink)
      tunnel.begin(in: slot)
      return tunnel
    }
    guard let pages else { return next.begin(request, respondingTo: sink) }
    let tunnel = TunnelPageGuard(to: PageOrigin(scheme: "http", target), pages, on: shared.eventLoop)
    tunnel.begin(request, before: next, respondingTo: sink)
    return tunnel
  }

  /// Opens a tunnel to a device's name, which ends here: its content is a client's connection to that device.
  private func deviceTunnel(
    _ request: ExchangeHead, for proxyTarget: ProxyTarget, by terms: ProxyTerms, respondingTo sink: any ResponseSink
  ) throws(BywayError) -> any RequestSink {
    do {
      let target = try request.requiredAuthority()
      guard let slot = shared.tunnels.take(for: ClientKey(of: request)) else { throw Self.tooManyTunnels }
      let tunnel = TunnelServer(on: shared.eventLoop, in: slot, respondingTo: sink)
      try tunnel.begin(inside(target, "http", for: proxyTarget, from: request), tunnels(of: request, by: terms))
      return tunnel
    } catch {
      throw BywayError(error)
    }
  }

  /// Returns the configuration for the content of a tunnel. Its requests come from the peer that opened the tunnel.
  private func tunnels(of request: ExchangeHead, by terms: ProxyTerms) -> ServerConfiguration {
    var configuration = terms.tunnels
    configuration.observation = configuration.observation?.from(request.observed?.record.peer)
    return configuration
  }

  /// Makes the handler of requests from inside a tunnel, which applies the configuration in force then. Their client and user are those
  /// that opened the tunnel.
  private func inside(
    _ target: Authority, _ scheme: String, for proxyTarget: ProxyTarget, from opening: ExchangeHead
  ) -> TunnelContentHandler {
    let (client, user) = (opening.client, opening.user)
    let (shared, context, delivery) = (shared, context, self)
    return TunnelContentHandler(
      target, scheme: scheme,
      { context.isJudged(shared.terms.users?.rules) ? shared.terms.rules.pages : nil },
      before: { request, sink in
        var request = request
        request.client = client
        request.user = user
        guard let users = shared.terms.users else {
          do throws(BywayError) {
            return try delivery.begin(request, for: proxyTarget, by: shared.terms, respondingTo: sink)
          } catch {
            sink.fail(error)
            return DiscardingRequestSink()
          }
        }
        request.edit { fields in
          users.rules.header?.remove(from: &fields)
          users.rules.removeOwnLogins(of: user.name, from: &fields)
        }
        let exchange = UserExchange(hiding: users.rules.header, within: shared.held, respondingTo: sink)
        delivery.begin(request, for: proxyTarget, through: exchange)
        return exchange
      })
  }

  private static let tooManyTunnels = BywayError(
    .refused,
    "This client has \(ProxyState.tunnelLimit) tunnels open whose content this proxy serves: close some of them first.",
    processing: .none)

  private static let noGateway = BywayError(
    .forbidden,
    "This link leads to one server, not to a gateway that reaches other servers: use the proxy's own address.",
    processing: .none)

  private static let noDefault = BywayError(
    .misdirected,
    "This proxy reaches devices by their names, NAME.localhost, and has no default device whose gateway could reach other servers.",
    processing: .none)
}
