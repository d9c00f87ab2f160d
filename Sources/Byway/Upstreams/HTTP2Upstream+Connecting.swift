import NIOCore

// How a connection comes into use, and how its loss is handled.
extension HTTP2Upstream: HTTP2ClientConnection.Delegate {
  func connectionProved(_ connection: HTTP2ClientConnection) {
    backoff.reset()
    lastFailure = nil
    turnsChanged()
  }

  func connectionRefusesAll(_ connection: HTTP2ClientConnection) {
    if links.areSeveral { connection.drainRefusing() }
  }

  func connectionRefusesStreams(_ connection: HTTP2ClientConnection) {
    stopUsing(connection)
    if !waiting.isEmpty { connect() }
  }

  /// Gives the connection no more exchanges.
  private func stopUsing(_ connection: HTTP2ClientConnection) {
    others.removeAll { $0 === connection }
    if configuration.sharing == .balanced { farEndChanged() }
    guard case .connected(let current) = state, current === connection else { return }
    farEndChanged()
    // Recorded before its end, and before its exchanges look for another link.
    if let failure = connection.failure { links.failing(connection.link, failure, at: eventLoop.now) }
    state = .idle
    goOnWithAnother()
    turnsChanged()
  }

  func connectionEnded(_ connection: HTTP2ClientConnection, _ error: BywayError?) {
    lastEnd = eventLoop.now
    lastSeen = lastEnd
    ended(connection, error)
    stopUsing(connection)
    if let error {
      // Later exchanges fail with the reason why there is no link now.
      lastFailure = links.explain(error)
    }
    // A connection that took no more streams may end while another one is open, or is about to open.
    switch state {
    case .connected, .proving: return
    case .idle, .connecting, .backingOff, .shutDown: break
    }
    if hastenSearch() { return }
    var failure = error ?? BywayError(.linkLost, "\(connection.name) was closed.")
    failPings(failure)
    // Exchanges may be waiting if it ended before it could be used.
    failure.processing = .none
    if case .idle = state { tryAgain(after: failure) }
  }

  /// Records the end of a connection for its link, with whether that has no other connection.
  private func ended(_ connection: HTTP2ClientConnection, _ error: BywayError?) {
    var isLast = true
    if case .connected(let current) = state { isLast = current === connection || current.link != connection.link }
    if let error {
      links.lost(connection.link, error, isLast: isLast, at: lastEnd)
    } else {
      links.closed(connection.link, isLast: isLast, at: lastEnd)
    }
  }

  func ponged(_ connection: HTTP2ClientConnection, _ roundTrip: TimeAmount) {
    guard case .connected(let current) = state, current === connection else { return }
    if !pings.isEmpty { pings.removeFirst().succeed(roundTrip) }
  }

  // MARK: Connecting

  func connect() {
    guard case .idle = state else { return }
    // A request that comes long after a failure need not wait for the backoff.
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

  /// - Parameter tried: links that have failed in this attempt.
  private func dial(without tried: Set<Int> = []) {
    state = .connecting
    if links.areAwaited { return awaitGateway() }
    links.dial(without: tried, on: eventLoop, deadline: eventLoop.now + timeToConnect).assumeIsolated().whenComplete {
      switch $0 {
      case .success(let opened): self.connected(opened)
      case .failure(let error): self.connectFailed(self.links.explain(error))
      }
    }
  }

  /// The first attempt ends before the patience of the waiting exchanges, so that they fail with its reason. Once a reason is known, a link
  /// gets the full time, even if it takes longer to open than an exchange waits.
  private var timeToConnect: TimeAmount {
    guard configuration.patience > .zero, lastFailure == nil else { return configuration.connectTimeout }
    return min(configuration.connectTimeout, .nanoseconds(configuration.patience.nanoseconds / 10 * 9))
  }

  func connected(_ opened: OpenedLink) {
    guard case .connecting = state else {
      opened.channel.close(promise: nil)
      return
    }
    let connection = connection(over: opened)
    if links.areSeveral { return prove(connection, opened.tried) }
    // Set before it starts: with data that was kept for it, the connection may end at once.
    connection.handOver(to: self)
    state = .connected(connection)
    farEndChanged()
    // Until the peer has proved that it speaks HTTP/2, a lost connection counts as a failed attempt.
    backoff.fail()
    openedAt = eventLoop.now
    links.taken(connection.link, at: openedAt)
    connection.start()
    serve(connection)
  }

  func connection(over opened: OpenedLink) -> HTTP2ClientConnection {
    HTTP2ClientConnection(
      on: opened.channel, name: links.name(of: opened.link), link: opened.link, configuration: configuration.http2,
      watchesLine: links.areSeveral, rules: rules)
  }

  /// Sends nothing on an unproved link while there are others: a request that may not be repeated could not move to them.
  private func prove(_ connection: HTTP2ClientConnection, _ tried: Set<Int>) {
    let trial = ConnectionTrial(
      connection, on: eventLoop, within: LinkTable.headStart + connection.timeToProve
    ) { result in
      switch result {
      case .success(let connection):
        self.take(connection)
      case .failure(let error):
        self.links.failed(connection.link, error, at: self.eventLoop.now)
        guard case .proving = self.state else { return }
        if tried.count < self.links.dialers.count { return self.dial(without: tried) }
        self.state = .connecting
        self.connectFailed(self.links.failure)
      }
    }
    state = .proving(trial)
    trial.start()
  }

  /// Uses a connection whose remote end has answered.
  func take(_ connection: HTTP2ClientConnection) {
    connection.handOver(to: self)
    state = .connected(connection)
    farEndChanged()
    backoff.reset()
    lastFailure = nil
    openedAt = eventLoop.now
    links.taken(connection.link, at: openedAt)
    serve(connection)
    searchBetterLink()
  }

  private func serve(_ connection: HTTP2ClientConnection) {
    guard case .connected(let current) = state, current === connection else { return }
    sendPings(on: connection)
    turnsChanged()
    if links.areAwaited { awaitGateway() }
    drainIfRetired()
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

  /// Starts another attempt for the exchanges that still have patience.
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
