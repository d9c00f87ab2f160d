import NIOCore

/// A connection that is tried before it gets exchanges: its far end must answer PINGs in time, and go on answering for as long as is
/// asked of it. Its SETTINGS prove nothing: they are sent before it has heard anything.
///
/// The connection's delegate meanwhile. Lives on its event loop.
final class ConnectionTrial: HTTP2ClientConnection.Delegate {
  /// Between an answer and the next PING.
  private static let pause = TimeAmount.milliseconds(500)

  private enum State {
    /// For its first answer.
    case waiting
    case well(since: NIODeadline)
    case over
  }

  let connection: HTTP2ClientConnection
  /// It has been in use.
  private let hasStoodBy: Bool
  private let eventLoop: any EventLoop
  private let patience: TimeAmount
  private let duration: TimeAmount
  private var state = State.waiting
  private var timer: Scheduled<Void>?
  private var ended: ((Result<HTTP2ClientConnection, BywayError>) -> Void)?

  /// - Parameters:
  ///   - connection: not started yet, or one that stands by.
  ///   - patience: how long each answer may take.
  ///   - duration: how long it must be well.
  ///   - ended: is told that the connection can be used, and has no delegate now, or why it could not and was given up.
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

  /// The connection may have ended when this returns.
  func start() {
    connection.handOver(to: self)
    wait()
    if !hasStoodBy { connection.start() }
    connection.ping()
  }

  /// What it has answered so far must do.
  /// - Returns: whether it has answered at all.
  func hasten() -> Bool {
    guard case .well = state else { return false }
    succeed()
    return true
  }

  /// Nobody wants to know any more. A new connection is closed.
  /// - Returns: one that has stood by, and may be in use: it is as good as before, and has no delegate now.
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
    connection.giveUp(error)
    ended.take()?(.failure(error))
  }

  // MARK: HTTP2ClientConnection.Delegate

  func connectionProved(_ connection: HTTP2ClientConnection) {}
  func connectionRefusesAll(_ connection: HTTP2ClientConnection) {}
  func connectionHasRoom(_ connection: HTTP2ClientConnection) {}

  func ponged(_ connection: HTTP2ClientConnection, _ roundTrip: TimeAmount) {
    answered()
  }

  /// Its PINGs tell.
  func connectionInterrupted(_ connection: HTTP2ClientConnection) {}
  func connectionResumed(_ connection: HTTP2ClientConnection) {}

  func connectionRefusesStreams(_ connection: HTTP2ClientConnection) {
    // What it still has to say, its failure above all, is told with its end.
    if case .well = state {
      fail(BywayError(.refused, "\(connection.name) takes no more requests.", processing: .none))
    }
  }

  func connectionEnded(_ connection: HTTP2ClientConnection, _ error: BywayError?) {
    fail(error ?? BywayError(.linkLost, "\(connection.name) was closed.", processing: .none))
  }
}
