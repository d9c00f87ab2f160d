import Byway

/// The running exchanges of users. Lives on the proxy's event loop.
final class UserSessions {
  private var exchanges: [ObjectIdentifier: UserExchange] = [:]

  func insert(_ exchange: UserExchange) {
    exchanges[ObjectIdentifier(exchange)] = exchange
  }

  func remove(_ exchange: UserExchange) {
    exchanges[ObjectIdentifier(exchange)] = nil
  }

  /// Ends the exchanges that may not continue: a tunnel or a followed log would outlive the right to it.
  func cut(where isGone: (UserExchange.Use) -> Bool) {
    for exchange in Array(exchanges.values) {
      if let use = exchange.use, isGone(use) { exchange.cut(Refusal.rightGone) }
    }
  }
}
