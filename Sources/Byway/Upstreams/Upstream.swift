import HTTP2Session
package import LineLayer
package import Logging
package import NIOCore

/// A handler that sends exchanges on, over connections of its own.
package protocol Upstream: ExchangeHandler {
  /// Opens at once what would otherwise open with the first exchange. On its event loop.
  func open()

  /// Measures a round trip, opening a connection first where there is none. On its event loop.
  func ping() -> EventLoopFuture<TimeAmount>

  /// What the line does over which its connection goes; `nil` where there is neither. On its event loop.
  var lineStatistics: LineStatistics? { get }

  /// How its connection is now. On its event loop.
  var status: UpstreamStatus { get }

  /// Keeps nothing open from now on that nobody uses. Who waits is still served, and so is who comes late: an interceptor
  /// may ask again.
  func retire()

  /// How long exchanges that begin from now on wait while its link is down.
  var patience: TimeAmount { get set }

  /// Opens nothing more; what is idle closes now, the rest when its exchanges have ended. Succeeds when all has closed.
  @discardableResult
  func shutDown() -> EventLoopFuture<Void>
}

extension HTTP1Upstream: Upstream {
  /// Each exchange has a connection of its own.
  package func open() {}

  package func ping() -> EventLoopFuture<TimeAmount> {
    eventLoop.makeFailedFuture(
      BywayError(.invalidRequest, "A link with http=1.1 cannot be pinged: HTTP/1.1 has no PING."))
  }

  package var lineStatistics: LineStatistics? { nil }

  package var status: UpstreamStatus {
    if connectionCount > 0 {
      var status = UpstreamStatus(.open(since: nil))
      status.connections = .init(active: connectionCount - idleCount, idle: idleCount)
      return status
    }
    if let lastFailure { return UpstreamStatus(.down(lastFailure)) }
    return UpstreamStatus(dialCount > 0 ? .opening : hasServed ? .closed : .idle)
  }
}

extension HTTP2Upstream: Upstream {}

extension Link {
  /// The requesting end of this link.
  /// - Parameters:
  ///   - dialer: where one was made before.
  ///   - hop: how this end names itself in `Via`; `nil` where it is not an intermediary.
  ///   - patience: how long an exchange waits while the link is down.
  ///   - liveness: `nil` to ask never.
  ///   - siblings: beneath which its names stand, where there are other devices.
  package func makeUpstream(
    over dialer: Dialer? = nil, on eventLoop: any EventLoop, hop: String?, patience: TimeAmount, liveness: Liveness?,
    siblings: DeviceHosts? = nil, logger: Logger
  ) -> any Upstream {
    let dialer = dialer ?? Dialer(self, logger: logger)
    switch framing {
    case .http1:
      var configuration = HTTP1Upstream.Configuration.defaults
      configuration.patience = patience
      configuration.siblings = siblings
      // A line has one session at a time, and each request may take as long as the line is slow.
      if transport is LineTransport {
        configuration.maximumConnections = 1
        configuration.reuse = .forAll
        configuration.queueing = configuration.responseTimeout
      }
      return HTTP1Upstream(dialer: dialer, on: eventLoop, hop: hop, configuration: configuration, logger: logger)
    case .http2:
      var configuration = HTTP2Upstream.Configuration.defaults
      configuration.patience = patience
      configuration.farEnd = .gateway
      configuration.siblings = siblings
      configuration.http2 = HTTP2Configuration(liveness: liveness)
      return HTTP2Upstream(dialer: dialer, on: eventLoop, hop: hop, configuration: configuration, logger: logger)
    }
  }
}
