package import Byway
package import BywayProxy

/// The common part of the configurations of gateways and proxies.
package protocol MemberConfiguration: Sendable {
  var interceptors: [any Interceptor] { get set }
  var observers: [any ExchangeObserver] { get set }
  var tally: ExchangeTally? { get set }
  var audit: (any AuditLog)? { get set }
  /// Whether a response to one user must not be shown to another.
  var tellsUsersApart: Bool { get }
}

extension MemberConfiguration {
  /// Returns the configuration with further interceptors before its own, observers and a tally.
  /// - Parameter name: The name of its section; empty without sections.
  func adding(
    _ interception: Interception, _ observation: DaemonObservation, named name: String, _ tally: ExchangeTally
  ) -> Self {
    var configuration = self
    configuration.observers = observation.observers(ofSection: name)
    configuration.tally = tally
    configuration.audit = interception.audit
    configuration.interceptors =
      (observation.rules.map { [$0] } ?? []) + interception.before(interceptors)
    return configuration
  }
}
