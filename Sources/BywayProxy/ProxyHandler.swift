import Byway
import HTTPWire
import NIOCore

/// Lets through what may use the link; the rest is answered here.
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
    let rules = audience == .programs ? nil : terms.rules
    let isTunnel = request.fields.asksForTunnel
    do throws(BywayError) {
      if let rules {
        try rules.admit(&request.fields, port: port)
      } else if !request.fields.contains(.authority) {
        // A client of HTTP/1.0 may name no host: the default that RFC 9112 §3.3 leaves to the server.
        request.fields.append(.authority, "localhost")
      }
      if !terms.leadsToGateway, isTunnel || request.fields.contains(.targetForm) { throw Self.noGateway }
    } catch {
      sink.fail(error)
      return DiscardingRequestSink()
    }
    return isTunnel
      ? tunnel(request, by: terms, rules, respondingTo: sink) : terms.next.begin(request, respondingTo: sink)
  }

  private func tunnel(
    _ request: ExchangeHead, by terms: ProxyTerms, _ rules: IngressRules?, respondingTo sink: any ResponseSink
  ) -> any RequestSink {
    let next = terms.next
    guard let target = request.fields.value(of: .authority).flatMap({ try? Authority($0) }) else {
      return next.begin(request, respondingTo: sink)
    }
    if let inspection = terms.inspection, inspection.termination.terminates(target.host) {
      let tunnel = TerminatedTunnel(
        request, to: target, by: inspection, pages: rules?.pages, on: way.eventLoop, before: next, respondingTo: sink)
      tunnel.begin()
      return tunnel
    }
    guard let rules else { return next.begin(request, respondingTo: sink) }
    let tunnel = GuardedTunnel(to: PageOrigin(scheme: "http", target), rules.pages, on: way.eventLoop)
    tunnel.begin(request, before: next, respondingTo: sink)
    return tunnel
  }

  private static let noGateway = BywayError(
    .forbidden, "This link leads to one server, not to a gateway that reaches others: use the proxy's own address.",
    processing: .none)
}

extension FieldSection {
  /// CONNECT as RFC 9110 §9.3.6 has it, which names a target; not a WebSocket (RFC 8441).
  var asksForTunnel: Bool {
    !contains(.protocol) && withValue(of: .method) { $0.elementsEqual("CONNECT".utf8) } ?? false
  }
}
