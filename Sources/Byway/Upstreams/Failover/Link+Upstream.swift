import BywayHTTP2Session
package import Logging
package import NIOCore

extension Link {
  /// Whether it has one user at a time.
  package var isLine: Bool { line != nil }
}

extension [Link] {
  /// Checks whether these can be the links of one device.
  /// - Throws: ``BywayError`` with code `invalidAddress` and the reason.
  package func checkLinks() throws(BywayError) {
    guard let first else { throw BywayError(.invalidAddress, "A device needs at least one link.") }
    guard count > 1 else { return }
    for link in self {
      if link.framing != first.framing {
        throw BywayError(
          .invalidAddress,
          "\(link.address) and \(first.address) cannot be links of one device: write http=1.1 for all of them or for none."
        )
      }
      if link.opening == .listen {
        throw BywayError(
          .invalidAddress, "\(link.address): one of several links cannot wait for the far end. Leave out open=listen.")
      }
    }
  }

  /// Makes the requesting end of a device with these links, the best one first. It uses the first link that works, and returns to a better
  /// one when that works again. The links must pass ``checkLinks()``.
  /// - Parameters:
  ///   - dialers: one for each link.
  ///   - hop: how this end names itself in `Via`; `nil` where it is not an intermediary.
  ///   - patience: how long an exchange waits while no link is open.
  ///   - liveness: `nil` to never check.
  ///   - siblings: keeps its sites apart from those of other devices; `nil` if there are none.
  package func makeUpstream(
    over dialers: [Dialer], on eventLoop: any EventLoop, hop: String?, patience: TimeAmount, liveness: Liveness?,
    siblings: (any SiblingRules)?, logger: Logger
  ) -> any Upstream {
    let links = UpstreamLinks(
      dialers: dialers, lines: filter(\.isLine).count, hasConsoles: contains { $0.console != nil }, siblings: siblings)
    return links.makeUpstream(
      first?.framing ?? .http2, on: eventLoop, hop: hop, patience: patience, liveness: liveness, logger: logger)
  }
}

/// The parts of an upstream.
private struct UpstreamLinks {
  let dialers: [Dialer]
  /// How many of them go over lines.
  let lines: Int
  let hasConsoles: Bool
  let siblings: (any SiblingRules)?

  /// The time limit of a login at a console, which may take long on a slow machine.
  private static let login = TimeAmount.seconds(45)

  func makeUpstream(
    _ framing: Link.Framing, on eventLoop: any EventLoop, hop: String?, patience: TimeAmount, liveness: Liveness?,
    logger: Logger
  ) -> any Upstream {
    // Without patience, a request does not wait for a login either.
    let patience = hasConsoles && patience > .zero ? max(patience, Self.login) : patience
    switch framing {
    case .http1:
      var configuration = HTTP1Upstream.Configuration.defaults
      configuration.patience = patience
      if hasConsoles { configuration.connectTimeout = Self.login }
      configuration.siblings = siblings
      if lines > 0 {
        // A line has one session at a time, and a slow line makes each request slow.
        configuration.maximumConnections = 1
        configuration.queueing = configuration.responseTimeout
        if lines == dialers.count { configuration.reuse = .forAll }
      }
      return HTTP1Upstream(
        links: dialers, on: eventLoop, hop: hop, configuration: configuration, logger: logger)
    case .http2:
      var configuration = HTTP2Upstream.Configuration.defaults
      configuration.patience = patience
      if hasConsoles { configuration.connectTimeout = Self.login }
      configuration.siblings = siblings
      configuration.serverKind = .gateway
      // A slow line makes each request slow.
      if lines > 0 { configuration.queueing = .seconds(60) }
      configuration.http2 = HTTP2Configuration(liveness: liveness, hasOtherLinks: dialers.count > 1)
      return HTTP2Upstream(
        links: dialers, on: eventLoop, hop: hop, configuration: configuration, logger: logger)
    }
  }
}
