import HTTP2Session
package import Logging
package import NIOCore

extension Link {
  /// It has one user at a time.
  package var isLine: Bool { transport is LineTransport }
}

extension [Link] {
  /// Whether these can be the roads to one device.
  /// - Throws: ``BywayError`` with code `invalidAddress`, which says why not.
  package func checkRoads() throws(BywayError) {
    guard let first else { throw BywayError(.invalidAddress, "A device needs a link at least.") }
    guard count > 1 else { return }
    for link in self {
      if link.framing != first.framing {
        throw BywayError(
          .invalidAddress,
          "\(link.address) and \(first.address) cannot be roads to one device: write http=1.1 for all of them or for none."
        )
      }
      if link.opening == .listen {
        throw BywayError(
          .invalidAddress, "\(link.address): of several roads none may wait for the far end. Leave out open=listen.")
      }
    }
  }

  /// The requesting end of a device that these links lead to, the better one first: the first that works, and back to a better
  /// one when that is well. They are such as ``checkRoads()`` lets pass.
  /// - Parameters:
  ///   - dialers: of each.
  ///   - hop: how this end names itself in `Via`; `nil` where it is not an intermediary.
  ///   - patience: how long an exchange waits while no road is open.
  ///   - liveness: `nil` to ask never.
  ///   - siblings: beneath which its names stand, where there are other devices.
  package func makeUpstream(
    over dialers: [Dialer], on eventLoop: any EventLoop, hop: String?, patience: TimeAmount, liveness: Liveness?,
    siblings: Siblings, logger: Logger
  ) -> any Upstream {
    let roads = UpstreamRoads(
      dialers: dialers, lines: filter(\.isLine).count, siblings: siblings)
    return roads.makeUpstream(
      first?.framing ?? .http2, on: eventLoop, hop: hop, patience: patience, liveness: liveness, logger: logger)
  }
}

/// What an upstream is made of.
private struct UpstreamRoads {
  let dialers: [Dialer]
  /// How many of them go over lines.
  let lines: Int
  let siblings: Siblings

  func makeUpstream(
    _ framing: Link.Framing, on eventLoop: any EventLoop, hop: String?, patience: TimeAmount, liveness: Liveness?,
    logger: Logger
  ) -> any Upstream {
    switch framing {
    case .http1:
      var configuration = HTTP1Upstream.Configuration.defaults
      configuration.patience = patience
      configuration.siblings = siblings
      if lines > 0 {
        // A line has one session at a time, and each request may take as long as the line is slow.
        configuration.maximumConnections = 1
        configuration.queueing = configuration.responseTimeout
        if lines == dialers.count { configuration.reuse = .forAll }
      }
      return HTTP1Upstream(
        roads: dialers, on: eventLoop, hop: hop, configuration: configuration, logger: logger)
    case .http2:
      var configuration = HTTP2Upstream.Configuration.defaults
      configuration.patience = patience
      configuration.siblings = siblings
      configuration.farEnd = .gateway
      // Each request may take as long as the line is slow.
      if lines > 0 { configuration.queueing = .seconds(60) }
      configuration.http2 = HTTP2Configuration(liveness: liveness, hasOtherRoads: dialers.count > 1)
      return HTTP2Upstream(
        roads: dialers, on: eventLoop, hop: hop, configuration: configuration, logger: logger)
    }
  }
}
