import Byway
import BywayHTTPWire
import NIOCore

/// Passes on admitted requests of authorized users, and answers all others itself.
final class ProxyHandler: ExchangeHandler {
  private let shared: ProxyState
  private let context: ConnectionContext

  init(_ shared: ProxyState, by context: ConnectionContext) {
    self.shared = shared
    self.context = context
  }

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    let terms = shared.terms
    let isForProxy = request.isAbsolute || request.kind == .connect
    let proxyTarget: ProxyTarget
    do throws(BywayError) {
      context.settleScheme(of: &request, terms.users?.rules)
      if !context.isGuarded { try shared.settleName(of: &request) }
      proxyTarget = try terms.rules.admit(
        &request, port: context.port, namesCount: context.isGuarded,
        pagesCount: context.isJudged(terms.users?.rules))
    } catch {
      sink.fail(error)
      return DiscardingRequestSink()
    }
    guard let users = terms.users else {
      do throws(BywayError) {
        return try delivery.begin(request, for: proxyTarget, by: terms, respondingTo: sink)
      } catch {
        sink.fail(error)
        return DiscardingRequestSink()
      }
    }
    let exchange = UserExchange(hiding: users.rules.header, within: shared.held, respondingTo: sink)
    receive(request, for: proxyTarget, isForProxy: isForProxy, users, exchange)
    return exchange
  }

  private var delivery: Delivery { Delivery(shared: shared, context: context) }

  // MARK: Users

  private func receive(
    _ request: ExchangeHead, for proxyTarget: ProxyTarget, isForProxy: Bool, _ users: UserAuthenticator,
    _ exchange: UserExchange
  ) {
    // The user may have to be identified again, from the original fields.
    var bare = request
    switch bare.edit({ users.identify(&$0, isForProxy: isForProxy, at: context) }) {
    case .claimed(let login, let field):
      let later: (UserAuthenticator.Identity) -> Void = { [self, bare] identity in
        guard !exchange.isOver else { return }
        // A reload has replaced the users in the meantime.
        if let now = shared.terms.users, now !== users {
          return receive(request, for: proxyTarget, isForProxy: isForProxy, now, exchange)
        }
        settle(bare, for: proxyTarget, identity, login.name, exchange)
      }
      guard let identity = users.check(login, field, from: context.network, then: later) else { return }
      settle(bare, for: proxyTarget, identity, login.name, exchange)
    case let identity:
      settle(bare, for: proxyTarget, identity, nil, exchange)
    }
  }

  /// - Parameter name: the name in the login.
  private func settle(
    _ request: ExchangeHead, for proxyTarget: ProxyTarget, _ identity: UserAuthenticator.Identity, _ name: String?,
    _ exchange: UserExchange
  ) {
    switch identity {
    case .known(let user):
      var request = request
      request.user = user
      delivery.begin(request, for: proxyTarget, through: exchange)
    case .unknown(let refusal):
      if let reason = refusal.reason {
        // A client without a name may request anything, so its target is not recorded.
        let resource = name == nil ? nil : proxyTarget.resource(hasMain: shared.terms.hasMain)
        shared.audit.refused(reason, name, resource, from: context.peer)
      }
      let hop = shared.hop
      exchange.refuse { refusal.answer(request.fields, hop: hop, to: $0) }
    case .claimed: break
    }
  }
}

extension Refusal {
  /// The reason for the audit log; `nil` for a request for a login.
  fileprivate var reason: AuditEvent.Reason? {
    switch self {
    case .login(_, isWrong: false): nil
    case .login(_, isWrong: true): .wrongLogin
    case .paused: .paused
    case .busy: .busy
    case .nobody, .ambiguous: .nobody
    }
  }
}
