import NIOCore

// The streams that the remote end allows, and how they are shared while exchanges wait for them.
extension HTTP2Upstream {
  /// How long a tunnel must be without traffic before it may be ended in favor of others, if its client has more than its share.
  static let idleTunnel = TimeAmount.seconds(5)
  /// The number of idle tunnels that each client keeps, and the part of the link's streams that this may be at most.
  private static let keptTunnels = (count: 3, part: 32)
  /// The interval of the search for such tunnels.
  private static let pause = TimeAmount.seconds(1)

  /// The connections that take exchanges.
  var working: [HTTP2ClientConnection] {
    guard case .connected(let connection) = state else { return [] }
    return configuration.sharing == .balanced ? [connection] + others : [connection]
  }

  /// Whether this connection, or another one that shares the requests, can take an exchange at once.
  func hasRoom(besides current: HTTP2ClientConnection) -> Bool {
    current.hasRoom || (configuration.sharing == .balanced && others.contains(where: \.hasRoom))
  }

  /// The event that a waiting exchange needs.
  var want: RequestLife.Want {
    if case .connected(let connection) = state, connection.isProved, connection.interruption == nil {
      .turn
    } else {
      .connection
    }
  }

  /// Reacts to a connection that has opened, ended, or changed its number of streams.
  func turnsChanged() {
    serveWaiting()
    guard !waiting.isEmpty else { return }
    let want = want
    waiting.tell { $0.wait(for: want) }
    if want == .turn { reclaimTunnels() }
  }

  func connectionHasRoom(_ connection: HTTP2ClientConnection) {
    if waiting.isEmpty { return }
    serveWaiting()
    drainIfRetired()
  }

  func serveWaiting() {
    while !waiting.isEmpty, case .connected(let connection) = state, !mustWait(for: connection),
      hasRoom(besides: connection), let exchange = waiting.popNext()
    {
      put(exchange, at: eventLoop.now, on: connection)
    }
  }

  /// Explains why a request got no stream.
  func noTurn(_ processing: BywayError.Processing) -> BywayError {
    let limit = working.reduce(0) { $0 + $1.streamLimit }
    let reason =
      limit == 0
      ? "\(name) takes no requests at the moment: try again later."
      : "\(name) takes \(limit) requests at once, and none of them ended in time: try again later, or end some that "
        + "stay open, such as tunnels, event streams and downloads."
    return BywayError(.refused, reason, processing: processing)
  }

  // MARK: Idle tunnels

  /// Looks for tunnels to end, now and for as long as exchanges wait.
  func reclaimTunnels() {
    guard !isReclaiming else { return }
    isReclaiming = true
    reclaimTunnels(in: .zero)
  }

  private func reclaimTunnels(in time: TimeAmount) {
    eventLoop.assumeIsolated().scheduleTask(in: time) {
      self.isReclaiming = !self.waiting.isEmpty && self.want == .turn
      guard self.isReclaiming else { return }
      self.endIdleTunnels()
      self.reclaimTunnels(in: Self.pause)
    }
  }

  /// Ends idle tunnels of clients above their fair share, the longest idle first: as many as clients below their share have exchanges
  /// waiting. A client keeps a few: many other clients would make its share very small.
  private func endIdleTunnels() {
    let shares = waiting.sharesInUse()
    let limit = working.reduce(0) { $0 + $1.streamLimit }
    let fair = max(1, limit / max(1, shares.count))
    var wanted = -working.reduce(0) { $0 + $1.closingStreams }
    for share in shares where share.running * shares.count < limit {
      wanted += min(share.waiting, fair - share.running)
    }
    guard wanted > 0 else { return }
    let idle = eventLoop.now - Self.idleTunnel
    let tunnels = working.flatMap(\.running).compactMap { exchange in
      exchange.lastTraffic.map { (since: $0, exchange: exchange) }
    }
    var counts = Dictionary(tunnels.map { ($0.exchange.client, 1) }, uniquingKeysWith: +)
    let kept = min(Self.keptTunnels.count, limit / Self.keptTunnels.part)
    for (since, tunnel) in tunnels.sorted(by: { $0.since < $1.since }) {
      guard wanted > 0, since <= idle else { return }
      let count = counts[tunnel.client] ?? 0
      guard count > kept, let share = tunnel.share, share.running * shares.count > limit else { continue }
      counts[tunnel.client] = count - 1
      tunnel.reclaim(Self.wasIdle)
      wanted -= 1
    }
  }

  private static let wasIdle = BywayError(
    .refused, "The tunnel was idle, and other clients had no stream: open fewer tunnels, or keep them busy.")
}
