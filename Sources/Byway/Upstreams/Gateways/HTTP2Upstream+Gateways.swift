import NIOCore

/// The use of the connections when several gateways dial one link, or claim one name.
package enum GatewaySharing: Sendable, Hashable {
  /// The latest gets all requests: usually it is the same gateway after it lost its line. The others stand by.
  case newest
  /// Each request goes to the gateway with the fewest running requests.
  case balanced
}

/// The wait for a gateway to dial.
enum PendingGateway {
  case none
  case awaited
  /// A new connection is being tested while another one is in use.
  case trying(ConnectionTrial)
}

// Gateways that dial this end: the first one, and those that dial while it is in use.
extension HTTP2Upstream {
  /// How many connections stand by. Further ones are drained; a drained gateway dials again as the newest, and so on, so this should be
  /// enough.
  private static let mostOthers = 7
  /// How long a new connection may take for its first answer.
  private static let patienceWithPendingGateways = TimeAmount.seconds(5)
  /// How long a connection that has stood by may take to answer.
  private static let patienceWithOthers = TimeAmount.seconds(2)

  /// Waits for the next gateway to dial, unless it does so already.
  func awaitGateway() {
    guard !isRetired, case .none = pendingGateway, links.isOpenedHere else { return }
    pendingGateway = .awaited
    links.dial(on: eventLoop, deadline: .distantFuture).assumeIsolated().whenComplete { result in
      guard case .awaited = self.pendingGateway else {
        if case .success(let opened) = result { opened.channel.close(promise: nil) }
        return
      }
      self.pendingGateway = .none
      switch result {
      case .success(let opened): self.gatewayDialed(opened)
      case .failure(let error): self.connectFailed(self.links.explain(error))
      }
    }
  }

  private func gatewayDialed(_ opened: OpenedLink) {
    if case .connecting = state { return connected(opened) }
    let trial = ConnectionTrial(
      connection(over: opened), on: eventLoop, within: Self.patienceWithPendingGateways
    ) { result in
      self.pendingGateway = .none
      if case .success(let connection) = result { self.adopt(connection) }
      self.awaitGateway()
    }
    pendingGateway = .trying(trial)
    trial.start()
  }

  func endAwaiting() {
    if case .trying(let trial) = pendingGateway { trial.cancel() }
    pendingGateway = .none
  }

  /// Keeps a connection in reserve after a newer one has replaced it.
  func standBy(_ connection: HTTP2ClientConnection) {
    if configuration.sharing == .newest { links.replaced() }
    others.append(connection)
    if others.count > Self.mostOthers { others.removeFirst().drain() }
  }

  /// Chooses the least busy connection where gateways share the requests. A connection that fails requests immediately would always be the
  /// least busy one, so it comes after the others for a while, and last for an exchange that it has failed already.
  func place(
    for exchange: UpstreamExchange, besides current: HTTP2ClientConnection, at now: NIODeadline
  ) -> HTTP2ClientConnection {
    guard configuration.sharing == .balanced, !others.isEmpty else { return current }
    func cost(_ connection: HTTP2ClientConnection) -> (Int, Int) {
      let flaws = (exchange.hasFailed(on: connection) ? 2 : 0) + (connection.rests(at: now) ? 1 : 0)
      return (flaws + (connection.hasRoom ? 0 : 4), connection.load)
    }
    return others.reduce(current) { cost($1) < cost($0) ? $1 : $0 }
  }

  /// Continues with a connection that stands by, or waits for one. Only where the remote end dials.
  func goOnWithAnother() {
    guard links.areAwaited else { return }
    guard let next = others.popLast() else { return connect() }
    let trial = ConnectionTrial(next, on: eventLoop, within: Self.patienceWithOthers) { result in
      switch result {
      case .success(let connection):
        self.take(connection)
      case .failure:
        guard case .proving = self.state else { return }
        self.state = .idle
        self.goOnWithAnother()
      }
    }
    state = .proving(trial)
    trial.start()
  }

  /// Hands out its connection for another upstream, and takes no more requests.
  func releaseConnection() -> HTTP2ClientConnection? {
    guard case .connected(let connection) = state else { return nil }
    state = .shutDown
    connection.handOver(to: nil)
    return connection
  }
}
