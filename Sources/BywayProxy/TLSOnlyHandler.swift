import Byway
import BywayHTTPWire

/// Refuses to forward inspected requests without TLS: a request that came inside TLS for another server leaves inside TLS, or not at
/// all. A request that came inside TLS for the proxy itself, or for one of its devices, has reached its target.
final class TLSOnlyHandler: ExchangeHandler {
  private let hosts: HostRules
  private let next: any ExchangeHandler

  init(_ hosts: HostRules, before next: any ExchangeHandler) {
    self.hosts = hosts
    self.next = next
  }

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    guard request.scheme == .https, !request.isAbsolute, !isOwn(request) else {
      return next.begin(request, respondingTo: sink)
    }
    sink.fail(
      BywayError(
        .misdirected, "This request came over https and would have been forwarded unencrypted, so it was refused.",
        processing: .none))
    return DiscardingRequestSink()
  }

  private func isOwn(_ request: borrowing ExchangeHead) -> Bool {
    request.authority.map { hosts.meaning(of: $0) != nil || hosts.isOwn($0, isSecret: true) } ?? false
  }
}
