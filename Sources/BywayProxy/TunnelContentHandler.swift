import Byway
import BywayHTTPWire
import NIOCore

/// Checks that requests from inside a tunnel are for its target, and passes them on.
final class TunnelContentHandler: ExchangeHandler {
  private let target: Authority
  private let scheme: String
  private let pages: () -> PageRules?
  private let next: (ExchangeHead, any ResponseSink) -> any RequestSink

  /// - Parameters:
  ///   - scheme: `https` if TLS was terminated in the tunnel.
  ///   - pages: the rules for web pages, by the configuration in force.
  ///   - next: handles the admitted requests.
  init(
    _ target: Authority, scheme: String, _ pages: @escaping () -> PageRules?,
    before next: @escaping (ExchangeHead, any ResponseSink) -> any RequestSink
  ) {
    self.target = target
    self.scheme = scheme
    self.pages = pages
    self.next = next
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    var request = request
    guard let named = request.authority, request.kind != .connect, named.host == target.host,
      named.port(for: scheme) == target.port(for: scheme)
    else {
      let authority = request.fields.value(of: .authority) ?? ""
      let message = "The tunnel leads to \(target.host), but the request in it is for \"\(authority)\"."
      sink.fail(BywayError(.misdirected, message, processing: .none))
      return DiscardingRequestSink()
    }
    do throws(BywayError) {
      try pages()?.admit(request.fields, to: PageOrigin(scheme: scheme, target))
    } catch {
      sink.fail(error)
      return DiscardingRequestSink()
    }
    request.set(.scheme, scheme)
    request.remove(.targetForm)
    return next(request, sink)
  }
}
