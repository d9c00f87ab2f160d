import NIOCore

/// The operations of a connection for its upstream.
protocol UpstreamConnection: PooledConnection where Request == UpstreamExchange {
  var isStarted: Bool { get }
  /// Starts it, with bytes that the channel has kept: the connection may have ended when this returns.
  func start()
  func ping()
  /// Takes no more exchanges; closes when the running ones have ended.
  func drain()
  /// Ends at once, and fails its exchanges with that error.
  func abort(_ error: BywayError)
  /// Reports nothing to its upstream from now on.
  func leaveUpstream()
  /// Succeeds when the channel has closed.
  var closed: EventLoopFuture<Void> { get }
}

/// The time limits of each exchange of an upstream.
struct ExchangeLimits {
  /// How long it waits for a place on a connection while all are in use.
  let queueing: TimeAmount
  /// How long it waits for the response's head; `nil`: no limit.
  let response: TimeAmount?
  var repetition = RetryRules.Repetition.idempotent
}

/// An upstream that carries out the actions of a ``ConnectionPool``, with either HTTP version.
protocol PooledUpstream: ExchangeUpstream {
  associatedtype Connection: UpstreamConnection

  var pool: ConnectionPool<Connection> { get set }
  var links: FailoverLinks { get }
  /// Fires at the pool's next deadline.
  var timer: LazyTimer { get }
  /// The number of exchanges so far.
  var arrivals: UInt64 { get set }
  var limits: ExchangeLimits { get }

  /// Makes a connection that is not started yet, and reports to this upstream.
  func connection(over opened: OpenedLink) -> Connection
  /// Puts an exchange on a connection that has room for it.
  func put(_ exchange: UpstreamExchange, on connection: Connection, at now: NIODeadline)
  /// A connection can be used now: it is new, or has passed a trial.
  func use(_ connection: Connection)
  /// The error for a connection whose line is gone.
  func lineIsGone(_ connection: Connection) -> BywayError
  func failPings(_ error: BywayError)
}

extension PooledUpstream {
  static var wasShutDown: BywayError { BywayError(.cancelled, "The client was shut down.", processing: .none) }

  func beginInPool(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    arrivals += 1
    let now = eventLoop.now
    let budget = budget(until: request.deadline)
    let exchange = UpstreamExchange(request, sink: sink, upstream: self, arrival: arrivals, budget: budget, at: now)
    start(exchange, at: now)
    return exchange
  }

  private func budget(until deadline: NIODeadline?) -> RequestLife.Budget {
    let patience = pool.rules.patience
    let isPatient = patience > .zero
    return RequestLife.Budget(
      patience: isPatient ? patience : pool.rules.connectTimeout + .seconds(1),
      // Where the remote end dials, no attempt fails by itself, so there is no first failure that could be final.
      isPatient: isPatient || pool.rules.isAwaited, queueing: limits.queueing, response: limits.response,
      repetition: limits.repetition, deadline: deadline ?? .distantFuture)
  }

  func start(_ exchange: UpstreamExchange, at now: NIODeadline) {
    if let connection = pool.connection(for: exchange, at: now) {
      put(exchange, on: connection, at: now)
      if pool.isSettled { return }
    } else {
      exchange.wait(for: pool.want)
      pool.wait(exchange, at: now)
    }
    advance()
  }

  func remove(_ exchange: UpstreamExchange) {
    pool.remove(exchange)
    if !pool.isSettled { advance() }
  }

  /// Carries out the pool's actions after an event.
  func advance() {
    let now = eventLoop.now
    while let action = pool.nextAction(links.table, at: now) { carryOut(action, at: now) }
    if let deadline = pool.nextDeadline { timer.set(deadline) } else { timer.cancel() }
  }

  func timePassed() {
    pool.timePassed(links.table, at: eventLoop.now)
    advance()
  }

  private func carryOut(_ action: ConnectionPool<Connection>.Action, at now: NIODeadline) {
    switch action {
    case .open(let tried, let deadline): open(without: tried, by: deadline)
    case .search(let link, let deadline): search(link, by: deadline)
    case .awaitGateway: awaitGateway()
    case .test(let connection, let isNew):
      if isNew { connection.start() }
      connection.ping()
    case .ping(let connection): connection.ping()
    case .use(let connection): use(connection)
    case .send(let exchange, let connection): put(exchange, on: connection, at: now)
    case .refuse(let exchange, .shutDown): exchange.turnedAway(Self.wasShutDown)
    case .refuse(let exchange, .tooManyWait):
      exchange.turnedAway(
        BywayError(.refused, "Too many requests are already waiting for \(name).", processing: .none))
    case .fail(let exchange, let error): exchange.connectFailed(error)
    case .failWaiting(let error): tellWaiting { $0.connectFailed(error) }
    case .failPings(let error): failPings(error)
    case .tellWant:
      let want = pool.want
      tellWaiting { $0.wait(for: want) }
    case .tellTime: tellWaiting { $0.timePassed() }
    case .reclaim(let exchange): exchange.reclaim(Self.tunnelWasIdle)
    case .close(let connection): connection.drain()
    case .abort(let connection): connection.abort(lineIsGone(connection))
    case .giveUp(let connection, let error):
      connection.leaveUpstream()
      if let error { connection.abort(error) } else { connection.drain() }
    case .passed(let connection):
      links.passed(connection.link)
      links.serves(connection.link, at: now)
    case .linkFailed(let link, let error, let isUrgent):
      if isUrgent || !links.isUp(link) { links.failed(link, error, isUrgent: isUrgent, at: now) }
    case .replaced: links.replaced()
    }
  }

  private static var tunnelWasIdle: BywayError {
    BywayError(.refused, "The tunnel was idle, and other clients had no stream: open fewer tunnels, or keep them busy.")
  }

  /// Notifies all waiting exchanges; those that end leave the queue.
  private func tellWaiting(_ news: (UpstreamExchange) -> Void) {
    for exchange in Array(pool.waiting.exchanges) { news(exchange) }
    pool.noteDeadlines()
  }

  private func open(without tried: Set<Int>, by deadline: NIODeadline) {
    links.dial(without: tried, on: eventLoop, deadline: deadline).assumeIsolated().whenComplete {
      switch $0 {
      case .success(let opened) where self.pool.dialing > 0:
        self.pool.opened(self.connection(over: opened), tried: opened.tried, at: self.eventLoop.now)
      case .success(let opened): opened.channel.close(promise: nil)
      case .failure(let error): self.pool.dialFailed(self.links.explain(error), at: self.eventLoop.now)
      }
      self.advance()
    }
  }

  private func search(_ link: Int, by deadline: NIODeadline) {
    links.dial(only: link, on: eventLoop, deadline: deadline).assumeIsolated().whenComplete {
      guard case .dialing = self.pool.search else {
        if case .success(let opened) = $0 { opened.channel.close(promise: nil) }
        return
      }
      switch $0 {
      case .success(let opened):
        self.pool.searchOpened(self.connection(over: opened), self.links.table, at: self.eventLoop.now)
      case .failure(let error): self.pool.searchFailed(link, self.links.explain(error, of: link))
      }
      self.advance()
    }
  }

  private func awaitGateway() {
    links.dial(on: eventLoop, deadline: .distantFuture).assumeIsolated().whenComplete {
      guard case .awaited = self.pool.gateway else {
        if case .success(let opened) = $0 { opened.channel.close(promise: nil) }
        return
      }
      switch $0 {
      case .success(let opened): self.pool.gatewayDialed(self.connection(over: opened), at: self.eventLoop.now)
      case .failure(let error): self.pool.gatewayFailed(self.links.explain(error), at: self.eventLoop.now)
      }
      self.advance()
    }
  }

  /// Closes the unused connections, and the others when their exchanges end; waiting exchanges fail now.
  /// - Returns: succeeds when the connections are closed that could be used.
  func shutDownPool() -> EventLoopFuture<Void> {
    let ending = pool.shutDown().map(\.closed)
    failPings(Self.wasShutDown)
    tellWaiting { $0.turnedAway(Self.wasShutDown) }
    advance()
    return .andAllComplete(ending, on: eventLoop)
  }
}
