package import BywayLineLayer
package import NIOCore

/// A handler that sends exchanges on, over connections of its own.
package protocol Upstream: ExchangeHandler {
  /// Opens the connection now, which would otherwise open with the first exchange. On its event loop.
  func open()

  /// Measures a round trip; opens a connection first if there is none. On its event loop.
  func ping() -> EventLoopFuture<TimeAmount>

  /// The statistics of the line under its connection; `nil` if there is no line or no connection. On its event loop.
  var lineStatistics: LineStatistics? { get }

  /// The state of its connection. On its event loop.
  var status: UpstreamStatus { get }

  /// Keeps no unused connection open from now on. Serves waiting exchanges, and later ones as well: an interceptor may send a request
  /// again.
  func retire()

  /// How long exchanges that begin from now on wait while its link is down.
  var patience: TimeAmount { get set }

  /// Opens nothing more. Closes idle connections now, the others when their exchanges have ended. Succeeds when all are closed.
  @discardableResult
  func shutDown() -> EventLoopFuture<Void>
}
