import Byway
import HTTPWire
import NIOCore

/// Passes on admitted requests of authorized users, and answers all others itself.
final class ProxyHandler: ExchangeHandler {
  private let way: ProxyWay
  private let entrance: Entrance

  init(_ way: ProxyWay, by entrance: Entrance) {
    self.way = way
    self.entrance = entrance
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    var request = request
    let terms = way.terms
    let isForProxy = request.fields.contains(.targetForm) || request.fields.asksForTunnel
    let addressee: Addressee
    do throws(BywayError) {
      entrance.settleScheme(of: &request.fields, terms.users?.rules)
      if !entrance.isGuarded { try way.settleName(of: &request.fields) }
      addressee = try terms.rules.admit(
        &request.fields, port: entrance.port, namesCount: entrance.isGuarded,
        pagesCount: entrance.isJudged(terms.users?.rules))
    } catch {
      sink.fail(error)
      return DiscardingRequestSink()
    }
    guard let users = terms.users else {
      do throws(BywayError) {
        return try delivery.begin(request, for: addressee, by: terms, respondingTo: sink)
      } catch {
        sink.fail(error)
        return DiscardingRequestSink()
      }
    }
    let exchange = UserExchange(hiding: users.rules.header, within: way.held, respondingTo: sink)
    receive(request, for: addressee, isForProxy: isForProxy, users, exchange)
    return exchange
  }

  private var delivery: Delivery { Delivery(way: way, entrance: entrance) }

  // MARK: Users

  private func receive(
    _ request: ExchangeHead, for addressee: Addressee, isForProxy: Bool, _ users: UserDesk, _ exchange: UserExchange
  ) {
    // The user may have to be identified again, from the original fields.
    var bare = request
    switch users.identify(&bare.fields, isForProxy: isForProxy, at: entrance) {
    case .claimed(let login, let field):
      let later: (UserDesk.Identity) -> Void = { [self, bare] identity in
        guard !exchange.isOver else { return }
        // A reload has replaced the users in the meantime.
        if let now = way.terms.users, now !== users {
          return receive(request, for: addressee, isForProxy: isForProxy, now, exchange)
        }
        settle(bare, for: addressee, identity, login.name, exchange)
      }
      guard let identity = users.check(login, field, from: entrance.network, then: later) else { return }
      settle(bare, for: addressee, identity, login.name, exchange)
    case let identity:
      settle(bare, for: addressee, identity, nil, exchange)
    }
  }

  /// - Parameter name: the name in the login.
  private func settle(
    _ request: ExchangeHead, for addressee: Addressee, _ identity: UserDesk.Identity, _ name: String?,
    _ exchange: UserExchange
  ) {
    switch identity {
    case .known(let visitor):
      var request = request
      request.visitor = visitor
      delivery.begin(request, for: addressee, through: exchange)
    case .unknown(let refusal):
      if let reason = refusal.reason {
        // A client without a name may request anything, so its target is not recorded.
        let resource = name == nil ? nil : addressee.resource(hasMain: way.terms.hasMain)
        way.audit.refused(reason, name, resource, from: entrance.peer)
      }
      let hop = way.hop
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
