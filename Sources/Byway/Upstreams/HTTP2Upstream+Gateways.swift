import BywayHTTP2Session
package import Logging
package import NIOCore

extension HTTP2Upstream.Configuration {
  /// The settings of connections that gateways have dialed.
  package static func ofGateways(
    patience: TimeAmount, liveness: Liveness?, siblings: (any SiblingRules)?
  ) -> Self {
    var configuration = Self.defaults
    configuration.patience = patience
    configuration.serverKind = .gateway
    configuration.siblings = siblings
    configuration.http2 = HTTP2Configuration(liveness: liveness)
    return configuration
  }
}

extension HTTP2Upstream {
  /// Creates an upstream for gateways that dial: ``adopt(_:)`` gets their connections.
  /// - Parameters:
  ///   - name: the name that they claim.
  ///   - hop: how this end names itself in `Via`.
  ///   - patience: how long an exchange waits while there is no gateway.
  ///   - liveness: `nil` to never check.
  ///   - sharing: the use of several gateways that claim the name.
  ///   - siblings: keeps the devices' sites apart; `nil` if there are no others.
  package static func ofGateways(
    named name: String, on eventLoop: any EventLoop, hop: String?, patience: TimeAmount, liveness: Liveness?,
    sharing: GatewaySharing, siblings: (any SiblingRules)?, logger: Logger
  ) -> HTTP2Upstream {
    var configuration = Configuration.ofGateways(patience: patience, liveness: liveness, siblings: siblings)
    configuration.sharing = sharing
    return HTTP2Upstream(
      dialer: .handedOver(name: name), on: eventLoop, hop: hop, configuration: configuration, logger: logger)
  }
}
