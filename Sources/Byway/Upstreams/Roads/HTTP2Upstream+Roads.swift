import NIOCore

/// The search for a better link than the one in use.
enum RoadSearch {
  case none
  case pausing(Scheduled<Void>)
  case dialing
  case trying(ConnectionTrial)
}

// Falls back to a lesser link when a line is lost, and returns to a better one when that works.
extension HTTP2Upstream {
  /// How long after the last request the search for a better link ends.
  private static let idleness = TimeAmount.minutes(1)

  // MARK: Leaving a line

  /// Whether new requests wait because its line is gone, and may return soon. Requests sent now could not be repeated over another link.
  func mustWait(for connection: HTTP2ClientConnection) -> Bool {
    roads.areSeveral && connection.interruption != nil
  }

  func connectionInterrupted(_ connection: HTTP2ClientConnection) {
    turnsChanged()
    guard roads.areSeveral else { return }
    eventLoop.assumeIsolated().scheduleTask(in: RoadTable.patienceWithLines) {
      guard connection.interruption != nil else { return }
      connection.giveUp(BywayError(.linkLost, "The line of \(connection.name) is gone or silent."))
    }
  }

  func connectionResumed(_ connection: HTTP2ClientConnection) {
    turnsChanged()
    leaveConnection()
  }

  // MARK: Back to a better link

  /// Searches for a better link while a lesser one is in use and has requests.
  func searchBetterRoad() {
    guard roads.areSeveral, case .none = search, let next = nextTrial() else { return }
    search = .pausing(
      eventLoop.assumeIsolated().scheduleTask(deadline: max(next.at, eventLoop.now)) {
        self.search = .none
        self.tryBetterRoad()
      })
  }

  private func nextTrial() -> (road: Int, at: NIODeadline)? {
    guard !isRetired, case .connected(let connection) = state, eventLoop.now - lastUse < Self.idleness else {
      return nil
    }
    return roads.nextTrial(betterThan: connection.road)
  }

  private func tryBetterRoad() {
    let now = eventLoop.now
    guard let (road, time) = nextTrial() else { return }
    guard time <= now else { return searchBetterRoad() }
    search = .dialing
    roads.dial(only: road, on: eventLoop, deadline: now + configuration.connectTimeout).assumeIsolated().whenComplete {
      self.searchOpened(road, $0)
    }
  }

  private func searchOpened(_ road: Int, _ result: Result<OpenedRoad, any Error>) {
    guard case .dialing = search else {
      if case .success(let opened) = result { opened.channel.close(promise: nil) }
      return
    }
    search = .none
    switch result {
    case .success(let opened): tryOut(connection(over: opened))
    case .failure(let error): searchFailed(road, error)
    }
  }

  private func tryOut(_ connection: HTTP2ClientConnection) {
    let trial = ConnectionTrial(
      connection, on: eventLoop, within: RoadTable.headStart + connection.timeToProve,
      for: roads.trial(of: connection.road)
    ) { result in
      self.search = .none
      switch result {
      case .success(let connection) where self.roads.isUp(connection.road):
        // The better link came into use without this test.
        connection.drain()
      case .success(let connection):
        self.roads.passed(connection.road)
        self.adopt(connection)
      case .failure(let error): self.searchFailed(connection.road, error)
      }
    }
    search = .trying(trial)
    trial.start()
  }

  private func searchFailed(_ road: Int, _ error: any Error) {
    if !roads.isUp(road) { roads.failed(road, error, isUrgent: false, at: eventLoop.now) }
    searchBetterRoad()
  }

  /// Ends the test early if a better link has answered already, because the lesser one is lost.
  func hastenSearch() -> Bool {
    guard case .trying(let trial) = search else { return false }
    return trial.hasten()
  }

  func endSearch() {
    switch search {
    case .none, .dialing: break
    case .pausing(let timer): timer.cancel()
    case .trying(let trial): trial.cancel()
    }
    search = .none
  }

  /// Switches to a connection that works. Running exchanges end on their old connection.
  func adopt(_ connection: HTTP2ClientConnection) {
    switch state {
    case .shutDown:
      return connection.drain()
    case .connected(let current):
      if roads.areAwaited { standBy(current) } else { current.drain() }
    case .proving(let trial):
      if let other = trial.cancel() {
        other.handOver(to: self)
        others.append(other)
      }
    case .idle, .connecting, .backingOff:
      break
    }
    take(connection)
  }
}
