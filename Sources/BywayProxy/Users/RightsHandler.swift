import Byway
import BywayHTTPWire

/// Checks rights again after the interceptors: a request that an interceptor redirects to another device needs the right to that
/// device. A request with its original device has been checked already.
final class RightsHandler: ExchangeHandler {
  private let rights: Rights
  private let hosts: HostRules
  private let next: any ExchangeHandler

  init(_ rights: Rights, _ hosts: HostRules, before next: any ExchangeHandler) {
    self.rights = rights
    self.hosts = hosts
    self.next = next
  }

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    guard request.device == nil, let refusal = refusal(of: request) else {
      return next.begin(request, respondingTo: sink)
    }
    sink.fail(refusal)
    return DiscardingRequestSink()
  }

  private func refusal(of request: borrowing ExchangeHead) -> BywayError? {
    let resource: Resource =
      if case .device(let name) = request.authority.flatMap(hosts.meaning) { .device(name) } else { .main }
    switch request.user {
    case .user(let user, _): return rights.allow(user, resource) ? nil : Refusal.mayNot(user, resource, nearest: nil)
    // An interceptor opens tunnels to servers of the default device's gateway by itself, for a request that was admitted.
    case .anyone: return resource == .main ? nil : Refusal.loginRequired
    }
  }
}
