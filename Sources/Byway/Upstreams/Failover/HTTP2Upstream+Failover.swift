import NIOCore

/// The search for a better link than the one in use.
enum LinkSearch {
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
    links.areSeveral && connection.interruption != nil
  }

  func connectionInterrupted(_ connection: HTTP2ClientConnection) {
    turnsChanged()
    guard links.areSeveral else { return }
    eventLoop.assumeIsolated().scheduleTask(in: LinkTable.patienceWithLines) {
      guard connection.interruption != nil else { return }
      connection.abort(BywayError(.linkLost, "The line of \(connection.name) is gone or silent."))
    }
  }

  func connectionResumed(_ connection: HTTP2ClientConnection) {
    turnsChanged()
    drainIfRetired()
  }

  // MARK: Back to a better link

  /// Searches for a better link while a lesser one is in use and has requests.
  func searchBetterLink() {
    guard links.areSeveral, case .none = search, let next = nextTrial() else { return }
    search = .pausing(
      eventLoop.assumeIsolated().scheduleTask(deadline: max(next.at, eventLoop.now)) {
        self.search = .none
        self.tryBetterLink()
      })
  }

  private func nextTrial() -> (link: Int, at: NIODeadline)? {
    guard !isRetired, case .connected(let connection) = state, eventLoop.now - lastUse < Self.idleness else {
      return nil
    }
    return links.nextTrial(betterThan: connection.link)
  }

  private func tryBetterLink() {
    let now = eventLoop.now
    guard let (link, time) = nextTrial() else { return }
    guard time <= now else { return searchBetterLink() }
    search = .dialing
    links.dial(only: link, on: eventLoop, deadline: now + configuration.connectTimeout).assumeIsolated().whenComplete {
      self.searchOpened(link, $0)
    }
  }

  private func searchOpened(_ link: Int, _ result: Result<OpenedLink, any Error>) {
    guard case .dialing = search else {
      if case .success(let opened) = result { opened.channel.close(promise: nil) }
      return
    }
    search = .none
    switch result {
    case .success(let opened): tryOut(connection(over: opened))
    case .failure(let error): searchFailed(link, error)
    }
  }

  private func tryOut(_ connection: HTTP2ClientConnection) {
    let trial = ConnectionTrial(
      connection, on: eventLoop, within: LinkTable.headStart + connection.timeToProve,
      for: links.trial(of: connection.link)
    ) { result in
      self.search = .none
      switch result {
      case .success(let connection) where self.links.isUp(connection.link):
        // The better link came into use without this test.
        connection.drain()
      case .success(let connection):
        self.links.passed(connection.link)
        self.adopt(connection)
      case .failure(let error): self.searchFailed(connection.link, error)
      }
    }
    search = .trying(trial)
    trial.start()
  }

  private func searchFailed(_ link: Int, _ error: any Error) {
    if !links.isUp(link) { links.failed(link, error, isUrgent: false, at: eventLoop.now) }
    searchBetterLink()
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
      if links.areAwaited { standBy(current) } else { current.drain() }
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
