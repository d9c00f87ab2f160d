import NIOCore

/// A connection under test before it gets exchanges. Its remote end must answer PINGs in time, for as long as the test takes. SETTINGS
/// prove nothing, because they are sent before anything was received.
///
/// The connection's delegate during the test. Lives on its event loop.
final class ConnectionTrial: HTTP2ClientConnection.Delegate {
  /// Between an answer and the next PING.
  private static let pause = TimeAmount.milliseconds(500)

  private enum State {
    /// No answer yet.
    case waiting
    case well(since: NIODeadline)
    case over
  }

  let connection: HTTP2ClientConnection
  /// Whether the connection was in use before.
  private let hasStoodBy: Bool
  private let eventLoop: any EventLoop
  private let patience: TimeAmount
  private let duration: TimeAmount
  private var state = State.waiting
  private var timer: Scheduled<Void>?
  private var ended: ((Result<HTTP2ClientConnection, BywayError>) -> Void)?

  /// - Parameters:
  ///   - connection: a connection that is not started yet, or that stands by.
  ///   - patience: how long each answer may take.
  ///   - duration: how long the connection must keep answering.
  ///   - ended: gets the usable connection, without a delegate, or the reason why the connection was given up.
  init(
    _ connection: HTTP2ClientConnection, on eventLoop: any EventLoop, within patience: TimeAmount,
    for duration: TimeAmount = .zero, _ ended: @escaping (Result<HTTP2ClientConnection, BywayError>) -> Void
  ) {
    self.connection = connection
    hasStoodBy = connection.isStarted
    self.eventLoop = eventLoop
    self.patience = patience
    self.duration = duration
    self.ended = ended
  }

  /// Starts the test. The connection may have ended when this returns.
  func start() {
    connection.handOver(to: self)
    wait()
    if !hasStoodBy { connection.start() }
    connection.ping()
  }

  /// Ends the test early with success, if the connection has answered at all.
  /// - Returns: whether it has answered.
  func hasten() -> Bool {
    guard case .well = state else { return false }
    succeed()
    return true
  }

  /// Cancels the test. A new connection is closed.
  /// - Returns: the connection if it stood by before: it stays usable, and has no delegate now.
  @discardableResult
  func cancel() -> HTTP2ClientConnection? {
    ended = nil
    if case .over = state { return nil }
    if hasStoodBy {
      succeed()
      return connection
    }
    fail(BywayError(.cancelled, "The client was shut down.", processing: .none))
    return nil
  }

  private func wait() {
    timer?.cancel()
    timer = eventLoop.assumeIsolated().scheduleTask(in: patience) {
      self.fail(
        BywayError(
          .linkUnavailable, "\(self.connection.name) opened, but its far end does not answer.", processing: .none)
      )
    }
  }

  private func answered() {
    switch state {
    case .waiting:
      state = .well(since: eventLoop.now)
      if duration > .zero { ping() } else { succeed() }
    case .well(let start):
      let left = start + duration - eventLoop.now
      if left <= .zero { return succeed() }
      timer?.cancel()
      timer = eventLoop.assumeIsolated().scheduleTask(in: min(left, Self.pause)) { self.ping() }
    case .over:
      break
    }
  }

  private func ping() {
    wait()
    connection.ping()
  }

  private func succeed() {
    state = .over
    timer?.cancel()
    connection.handOver(to: nil)
    ended.take()?(.success(connection))
  }

  private func fail(_ error: BywayError) {
    if case .over = state { return }
    state = .over
    timer?.cancel()
    connection.abort(error)
    ended.take()?(.failure(error))
  }

  // MARK: HTTP2ClientConnection.Delegate

  func connectionProved(_ connection: HTTP2ClientConnection) {}
  func connectionRefusesAll(_ connection: HTTP2ClientConnection) {}
  func connectionHasRoom(_ connection: HTTP2ClientConnection) {}

  func ponged(_ connection: HTTP2ClientConnection, _ roundTrip: TimeAmount) {
    answered()
  }

  /// Ignored: the PINGs detect it.
  func connectionInterrupted(_ connection: HTTP2ClientConnection) {}
  func connectionResumed(_ connection: HTTP2ClientConnection) {}

  func connectionRefusesStreams(_ connection: HTTP2ClientConnection) {
    // The connection's end follows with its own reason, such as a failure.
    if case .well = state {
      fail(BywayError(.refused, "\(connection.name) takes no more requests.", processing: .none))
    }
  }

  func connectionEnded(_ connection: HTTP2ClientConnection, _ error: BywayError?) {
    fail(error ?? BywayError(.linkLost, "\(connection.name) was closed.", processing: .none))
  }
}
