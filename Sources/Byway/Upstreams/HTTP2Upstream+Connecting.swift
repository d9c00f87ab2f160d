import NIOCore

// How a connection comes into use, and what is done when it goes.
extension HTTP2Upstream: HTTP2ClientConnection.Delegate {
  func connectionProved(_ connection: HTTP2ClientConnection) {
    backoff.reset()
    lastFailure = nil
    turnsChanged()
  }

  func connectionRefusesAll(_ connection: HTTP2ClientConnection) {
    if roads.areSeveral { connection.drainRefusing() }
  }

  func connectionRefusesStreams(_ connection: HTTP2ClientConnection) {
    leave(connection)
    if !waiting.isEmpty { connect() }
  }

  /// Gives it no more exchanges.
  private func leave(_ connection: HTTP2ClientConnection) {
    others.removeAll { $0 === connection }
    if configuration.sharing == .balanced { farEndChanged() }
    guard case .connected(let current) = state, current === connection else { return }
    farEndChanged()
    // Known before its end, and before those that ran on it look for another road.
    if let failure = connection.failure { roads.failing(connection.road, failure, at: eventLoop.now) }
    state = .idle
    goOnWithAnother()
    turnsChanged()
  }

  func connectionEnded(_ connection: HTTP2ClientConnection, _ error: BywayError?) {
    lastEnd = eventLoop.now
    lastSeen = lastEnd
    ended(connection, error)
    leave(connection)
    if let error {
      // Who waits after that is told why there is no link now.
      lastFailure = roads.explain(error)
    }
    // One that took no more streams ends while another lives, or is about to.
    switch state {
    case .connected, .proving: return
    case .idle, .connecting, .backingOff, .shutDown: break
    }
    if hastenSearch() { return }
    var failure = error ?? BywayError(.linkLost, "\(connection.name) was closed.")
    failPings(failure)
    // Some wait where it has ended before it could be used.
    failure.processing = .none
    if case .idle = state { tryAgain(after: failure) }
  }

  /// What it says of its road, where that has not another connection by now.
  private func ended(_ connection: HTTP2ClientConnection, _ error: BywayError?) {
    var isLast = true
    if case .connected(let current) = state { isLast = current === connection || current.road != connection.road }
    if let error {
      roads.lost(connection.road, error, isLast: isLast, at: lastEnd)
    } else {
      roads.closed(connection.road, isLast: isLast, at: lastEnd)
    }
  }

  func ponged(_ connection: HTTP2ClientConnection, _ roundTrip: TimeAmount) {
    guard case .connected(let current) = state, current === connection else { return }
    if !pings.isEmpty { pings.removeFirst().succeed(roundTrip) }
  }

  // MARK: Connecting

  func connect() {
    guard case .idle = state else { return }
    // A request that comes long after a failure need not wait for that.
    let pause = backoff.pause(fraction: configuration.jitter()) - (eventLoop.now - lastEnd)
    if pause > .zero {
      state = .backingOff
      eventLoop.assumeIsolated().scheduleTask(in: pause) {
        if case .backingOff = self.state { self.dial() }
      }
    } else {
      dial()
    }
  }

  /// - Parameter tried: roads that have come to nothing just now.
  private func dial(without tried: Set<Int> = []) {
    state = .connecting
    if roads.areAwaited { return awaitGateway() }
    roads.dial(without: tried, on: eventLoop, deadline: eventLoop.now + timeToConnect).assumeIsolated().whenComplete {
      switch $0 {
      case .success(let opened): self.connected(opened)
      case .failure(let error): self.connectFailed(self.roads.explain(error))
      }
    }
  }

  /// A first try ends before the patience of those who wait does, so that they can be told its reason. After that a reason is
  /// known, and a link that takes longer to open than anybody waits gets its time.
  private var timeToConnect: TimeAmount {
    guard configuration.patience > .zero, lastFailure == nil else { return configuration.connectTimeout }
    return min(configuration.connectTimeout, .nanoseconds(configuration.patience.nanoseconds / 10 * 9))
  }

  func connected(_ opened: OpenedRoad) {
    guard case .connecting = state else {
      opened.channel.close(promise: nil)
      return
    }
    let connection = connection(over: opened)
    if roads.areSeveral { return prove(connection, opened.tried) }
    // In place before it begins: with what was kept for it, it may end at once.
    connection.handOver(to: self)
    state = .connected(connection)
    farEndChanged()
    // Until the peer has proved to speak HTTP/2, a lost connection counts as a failed try.
    backoff.fail()
    openedAt = eventLoop.now
    roads.taken(connection.road, at: openedAt)
    connection.start()
    serve(connection)
  }

  func connection(over opened: OpenedRoad) -> HTTP2ClientConnection {
    HTTP2ClientConnection(
      on: opened.channel, name: roads.name(of: opened.road), road: opened.road, configuration: configuration.http2,
      watchesLine: roads.areSeveral, rules: rules)
  }

  /// Nothing is sent on a road on trust while there are others: what may not be repeated could not take those then.
  private func prove(_ connection: HTTP2ClientConnection, _ tried: Set<Int>) {
    let trial = ConnectionTrial(
      connection, on: eventLoop, within: RoadTable.headStart + connection.timeToProve
    ) { result in
      switch result {
      case .success(let connection):
        self.take(connection)
      case .failure(let error):
        self.roads.failed(connection.road, error, at: self.eventLoop.now)
        guard case .proving = self.state else { return }
        if tried.count < self.roads.dialers.count { return self.dial(without: tried) }
        self.state = .connecting
        self.connectFailed(self.roads.failure)
      }
    }
    state = .proving(trial)
    trial.start()
  }

  /// Uses a connection whose far end has answered.
  func take(_ connection: HTTP2ClientConnection) {
    connection.handOver(to: self)
    state = .connected(connection)
    farEndChanged()
    backoff.reset()
    lastFailure = nil
    openedAt = eventLoop.now
    roads.taken(connection.road, at: openedAt)
    serve(connection)
    searchBetterRoad()
  }

  private func serve(_ connection: HTTP2ClientConnection) {
    guard case .connected(let current) = state, current === connection else { return }
    sendPings(on: connection)
    turnsChanged()
    if roads.areAwaited { awaitGateway() }
    leaveConnection()
  }

  func connectFailed(_ failure: BywayError) {
    guard case .connecting = state else { return }
    state = .idle
    backoff.fail()
    lastEnd = eventLoop.now
    lastFailure = failure
    failPings(failure)
    tryAgain(after: failure)
  }

  /// For those who still have patience after that.
  private func tryAgain(after failure: BywayError) {
    waiting.tell { $0.connectFailed(failure) }
    if !waiting.isEmpty { connect() }
  }

  // MARK: Pings

  func sendPings(on connection: HTTP2ClientConnection) {
    if !pings.isEmpty { connection.ping() }
  }

  func failPings(_ error: BywayError) {
    let failed = pings
    pings = []
    for promise in failed { promise.fail(error) }
  }
}
