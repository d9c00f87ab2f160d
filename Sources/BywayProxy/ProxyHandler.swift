import Byway
import HTTPWire
import NIOCore

/// Lets through what may use the link; the rest is answered here.
final class ProxyHandler: ExchangeHandler {
  private let rules: HostRules
  private let port: Int?
  private let leadsToGateway: Bool
  private let next: any ExchangeHandler
  private let inspection: Inspection?

  /// Where tunnels may be ended, and how what comes out of them is served.
  struct Inspection {
    let termination: any TLSTermination
    let configuration: ServerConfiguration
    let eventLoop: any EventLoop
  }

  /// - Parameters:
  ///   - port: where clients connect over TCP; `nil` where they come another way, and may name any host.
  ///   - leadsToGateway: the far end judges which targets beside its own may be reached.
  init(_ rules: HostRules, port: Int?, leadsToGateway: Bool, inspection: Inspection?, before next: any ExchangeHandler)
  {
    self.rules = rules
    self.port = port
    self.leadsToGateway = leadsToGateway
    self.inspection = inspection
    self.next = next
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    var request = request
    do throws(BywayError) {
      if let port {
        try rules.admit(&request.fields, port: port)
      } else if !request.fields.contains(.authority), !request.fields.contains(.host) {
        // A client of HTTP/1.0 may name no host: the default that RFC 9112 §3.3 leaves to the server.
        request.fields.append(.authority, "localhost")
      }
      if !leadsToGateway, request.fields.contains(.targetForm) || request.fields.asksForTunnel {
        throw Self.noGateway
      }
      if let tunnel = inspected(request, respondingTo: sink) { return tunnel }
    } catch {
      sink.fail(error)
      return DiscardingRequestSink()
    }
    return next.begin(request, respondingTo: sink)
  }

  /// `nil` where it is no tunnel to a host that is to be inspected.
  private func inspected(
    _ request: ExchangeHead, respondingTo sink: any ResponseSink
  ) -> (any RequestSink)? {
    guard let inspection, request.fields.asksForTunnel,
      let target = try? Authority(request.fields.value(of: .authority) ?? ""),
      inspection.termination.terminates(target.host)
    else { return nil }
    let tunnel = TerminatedTunnel(request, to: target, by: inspection, before: next, respondingTo: sink)
    tunnel.begin()
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
