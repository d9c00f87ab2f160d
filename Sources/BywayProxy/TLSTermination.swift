import Byway
package import HTTPWire
package import NIOCore

/// Stands in for servers: takes the TLS that clients of a proxy have with them off their tunnels.
package protocol TLSTermination: Sendable {
  /// Whether tunnels to this host are ended here.
  func terminates(_ host: Host) -> Bool

  /// Begins TLS as this host's server. Succeeds when bytes may be exchanged; the channel does not read yet.
  func begin(on channel: any Channel, as host: Host) -> EventLoopFuture<Void>
}

/// Says of requests from inside a tunnel where they want to go.
final class InspectedHandler: ExchangeHandler {
  private let target: Authority
  private let pages: PageRules?
  private let next: any ExchangeHandler

  init(_ target: Authority, _ pages: PageRules?, before next: any ExchangeHandler) {
    self.target = target
    self.pages = pages
    self.next = next
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    var request = request
    let authority = request.fields.value(of: .authority) ?? ""
    guard let named = try? Authority(authority), !request.fields.asksForTunnel, named.host == target.host,
      named.port(for: "https") == target.port(for: "https")
    else {
      let message = "The tunnel leads to \(target.host), and the request wants to go to \"\(authority)\"."
      sink.fail(BywayError(.misdirected, message, processing: .none))
      return DiscardingRequestSink()
    }
    do throws(BywayError) {
      try pages?.admit(request.fields, to: PageOrigin(scheme: "https", target))
    } catch {
      sink.fail(error)
      return DiscardingRequestSink()
    }
    request.fields.set(.scheme, "https")
    request.fields.remove(.targetForm)
    return next.begin(request, respondingTo: sink)
  }
}
