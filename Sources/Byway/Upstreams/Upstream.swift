package import LineLayer
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
    let state: UpstreamStatus.State =
      if connectionCount > 0 {
        interruption.map { .interrupted($0) } ?? .open(since: nil)
      } else if let lastFailure {
        .down(lastFailure)
      } else {
        dialCount > 0 ? .opening : hasServed ? .closed : .idle
      }
    var status = UpstreamStatus(state, roads: roads.status)
    status.waiting = waitingCount
    if connectionCount > 0 { status.connections = .init(active: connectionCount - idleCount, idle: idleCount) }
    return status
  }
}

extension HTTP2Upstream: Upstream {}
