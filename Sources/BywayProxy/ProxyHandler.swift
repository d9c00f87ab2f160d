import Byway
import HTTPWire
import NIOCore

/// Lets through what may be asked here, and sends it to whom it is for; the rest is answered here.
final class ProxyHandler: ExchangeHandler {
  private let way: ProxyWay
  private let audience: Audience
  private let port: Int?

  /// - Parameters:
  ///   - audience: where it is programs, no web page can be among the clients: they may name any host.
  ///   - port: where clients connect over TCP.
  init(_ way: ProxyWay, for audience: Audience, port: Int?) {
    self.way = way
    self.audience = audience
    self.port = port
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    var request = request
    let terms = way.terms
    let pages = audience == .programs ? nil : terms.rules.pages
    do throws(BywayError) {
      let addressee =
        pages == nil
        ? try terms.rules.hosts.addressee(of: &request.fields, port: port, isGuarded: false)
        : try terms.rules.admit(&request.fields, port: port)
      // Before interceptors answer for one that is not there.
      if case .device(let name) = addressee { request.device = try way.devices.device(named: name) }
      return try handler(for: addressee, of: request, by: terms, pages).begin(request, respondingTo: sink)
    } catch {
      sink.fail(error)
      return DiscardingRequestSink()
    }
  }

  private func handler(
    for addressee: Addressee, of request: ExchangeHead, by terms: ProxyTerms, _ pages: PageRules?
  ) throws(BywayError) -> any ExchangeHandler {
    let isTunnel = request.fields.asksForTunnel
    switch addressee {
    case .proxy:
      return terms.hasMain ? terms.next : way.frontPage
    case .frontPage:
      return way.frontPage
    case .device:
      return isTunnel ? DeviceTunnelHandler(way, isGuarded: pages != nil) : terms.next
    case .elsewhere:
      guard terms.hasMain else { throw Self.noDefault }
      if !terms.leadsToGateway { throw Self.noGateway }
      return isTunnel ? GatewayTunnelHandler(pages, by: terms, way) : terms.next
    }
  }

  private static let noGateway = BywayError(
    .forbidden, "This link leads to one server, not to a gateway that reaches others: use the proxy's own address.",
    processing: .none)

  private static let noDefault = BywayError(
    .misdirected,
    "This proxy leads to devices by their names, NAME.localhost, and has no default device whose gateway could reach others.",
    processing: .none)
}

/// Sends CONNECT to a gateway, and looks into the tunnel where that has to be.
private final class GatewayTunnelHandler: ExchangeHandler {
  private let pages: PageRules?
  private let terms: ProxyTerms
  private let way: ProxyWay

  /// - Parameter pages: judge what comes for a web page.
  init(_ pages: PageRules?, by terms: ProxyTerms, _ way: ProxyWay) {
    self.pages = pages
    self.terms = terms
    self.way = way
  }

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    let next = terms.next
    guard let target = request.fields.value(of: .authority).flatMap({ try? Authority($0) }) else {
      return next.begin(request, respondingTo: sink)
    }
    if let inspection = terms.inspection, inspection.terminates(target.host) {
      let inside = TunnelledHandler(target, scheme: "https", way.pages(pages != nil)) { [way] in way.terms.next }
      let tunnel = TerminatedTunnel(
        request, to: target, by: inspection, serving: terms.tunnels, inside, pages: pages, on: way.eventLoop,
        before: next, respondingTo: sink)
      tunnel.begin()
      return tunnel
    }
    guard let pages else { return next.begin(request, respondingTo: sink) }
    let tunnel = GuardedTunnel(to: PageOrigin(scheme: "http", target), pages, on: way.eventLoop)
    tunnel.begin(request, before: next, respondingTo: sink)
    return tunnel
  }
}

/// Answers CONNECT to a device's name here: what comes through the tunnel is a client's connection to that device.
private final class DeviceTunnelHandler: ExchangeHandler {
  private let way: ProxyWay
  private let isGuarded: Bool

  /// - Parameter isGuarded: web pages may be among those who ask.
  init(_ way: ProxyWay, isGuarded: Bool) {
    self.way = way
    self.isGuarded = isGuarded
  }

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    do {
      let target = try Authority(request.fields.value(of: .authority) ?? "")
      let inside = TunnelledHandler(target, scheme: "http", way.pages(isGuarded)) { [way] in way.terms.next }
      let tunnel = ServedTunnel(on: way.eventLoop, respondingTo: sink)
      try tunnel.begin(inside, way.terms.tunnels)
      return tunnel
    } catch {
      sink.fail(BywayError(error))
      return DiscardingRequestSink()
    }
  }
}

extension ProxyWay {
  /// Of the configuration in force, where web pages may be among those who ask.
  fileprivate func pages(_ isGuarded: Bool) -> () -> PageRules? {
    { [self] in isGuarded ? terms.rules.pages : nil }
  }
}

extension FieldSection {
  /// CONNECT as RFC 9110 §9.3.6 has it, which names a target; not a WebSocket (RFC 8441).
  var asksForTunnel: Bool {
    !contains(.protocol) && withValue(of: .method) { $0.elementsEqual("CONNECT".utf8) } ?? false
  }
}
