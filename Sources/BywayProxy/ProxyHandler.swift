import Byway
import HTTPWire
import NIOCore

/// Lets through what may be asked here, and sends it to whom it is for; the rest is answered here.
final class ProxyHandler: ExchangeHandler {
  private let way: ProxyWay
  /// Web pages may be among the clients.
  private let isGuarded: Bool
  private let port: Int?

  /// - Parameters:
  ///   - audience: where it is programs, no web page can be among the clients: they may name any host.
  ///   - port: where clients connect over TCP.
  init(_ way: ProxyWay, for audience: Audience, port: Int?) {
    self.way = way
    isGuarded = audience != .programs
    self.port = port
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    var request = request
    let terms = way.terms
    let pages = isGuarded ? terms.rules.pages : nil
    do throws(BywayError) {
      let addressee =
        isGuarded
        ? try terms.rules.admit(&request.fields, port: port)
        : try terms.rules.hosts.addressee(of: &request.fields, port: port, isGuarded: false)
      // Before interceptors answer for one that is not there.
      if case .device(let name) = addressee { request.device = try way.devices.device(named: name) }
      return try begin(request, for: addressee, by: terms, pages, respondingTo: sink)
    } catch {
      sink.fail(error)
      return DiscardingRequestSink()
    }
  }

  private func begin(
    _ request: ExchangeHead, for addressee: Addressee, by terms: ProxyTerms, _ pages: PageRules?,
    respondingTo sink: any ResponseSink
  ) throws(BywayError) -> any RequestSink {
    let isTunnel = request.fields.asksForTunnel
    switch addressee {
    case .proxy where terms.hasMain: return terms.next.begin(request, respondingTo: sink)
    case .proxy, .frontPage: return way.frontPage.begin(request, respondingTo: sink)
    case .device:
      return isTunnel
        ? try deviceTunnel(request, by: terms, respondingTo: sink)
        : terms.next.begin(request, respondingTo: sink)
    case .elsewhere:
      guard terms.hasMain else { throw Self.noDefault }
      if !terms.leadsToGateway { throw Self.noGateway }
      return isTunnel
        ? gatewayTunnel(request, by: terms, pages, respondingTo: sink)
        : terms.next.begin(request, respondingTo: sink)
    }
  }

  // MARK: Tunnels

  /// To a gateway; looks into the tunnel where that has to be.
  private func gatewayTunnel(
    _ request: ExchangeHead, by terms: ProxyTerms, _ pages: PageRules?, respondingTo sink: any ResponseSink
  ) -> any RequestSink {
    let next = terms.next
    guard let target = request.fields.value(of: .authority).flatMap({ try? Authority($0) }) else {
      return next.begin(request, respondingTo: sink)
    }
    if let inspection = terms.inspection, inspection.terminates(target.host) {
      let tunnel = TerminatedTunnel(
        request, to: target, by: inspection, serving: terms.tunnels, inside(target, "https"), pages: pages,
        on: way.eventLoop, before: next, respondingTo: sink)
      tunnel.begin()
      return tunnel
    }
    guard let pages else { return next.begin(request, respondingTo: sink) }
    let tunnel = GuardedTunnel(to: PageOrigin(scheme: "http", target), pages, on: way.eventLoop)
    tunnel.begin(request, before: next, respondingTo: sink)
    return tunnel
  }

  /// To a device's name, which ends here: what comes through it is a client's connection to that device.
  private func deviceTunnel(
    _ request: ExchangeHead, by terms: ProxyTerms, respondingTo sink: any ResponseSink
  ) throws(BywayError) -> any RequestSink {
    do {
      let target = try Authority(request.fields.value(of: .authority) ?? "")
      let tunnel = ServedTunnel(on: way.eventLoop, respondingTo: sink)
      try tunnel.begin(inside(target, "http"), terms.tunnels)
      return tunnel
    } catch {
      throw BywayError(error)
    }
  }

  /// Takes what comes out of a tunnel, by the configuration in force then.
  private func inside(_ target: Authority, _ scheme: String) -> TunnelledHandler {
    let (way, isGuarded) = (way, isGuarded)
    return TunnelledHandler(target, scheme: scheme, { isGuarded ? way.terms.rules.pages : nil }) { way.terms.next }
  }

  private static let noGateway = BywayError(
    .forbidden, "This link leads to one server, not to a gateway that reaches others: use the proxy's own address.",
    processing: .none)

  private static let noDefault = BywayError(
    .misdirected,
    "This proxy leads to devices by their names, NAME.localhost, and has no default device whose gateway could reach others.",
    processing: .none)
}

extension FieldSection {
  /// CONNECT as RFC 9110 §9.3.6 has it, which names a target; not a WebSocket (RFC 8441).
  var asksForTunnel: Bool {
    !contains(.protocol) && withValue(of: .method) { $0.elementsEqual("CONNECT".utf8) } ?? false
  }
}
