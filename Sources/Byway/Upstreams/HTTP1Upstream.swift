package import BywayHTTP1Session
import BywayHTTPWire
package import BywayLineLayer
package import Logging
package import NIOCore

/// Sends exchanges to an HTTP/1.1 server over a pool of kept-alive connections.
///
/// Exchanges that find no connection wait in the order of arrival: ``RequestLife``. Idle connections are taken last in, first out, so that
/// a quiet pool shrinks. Each is checked before it is used again. Lives on one event loop.
package final class HTTP1Upstream: Upstream, PooledUpstream {
  package struct Configuration: Sendable {
    /// The maximum number of open connections; further exchanges wait for one.
    package var maximumConnections = 256
    package var maximumWaiting = 1024
    /// How long an exchange waits for a connection while all are in use.
    package var queueing = TimeAmount.seconds(10)
    /// How long an exchange waits while no connection can be opened. Zero: the first failure is final.
    package var patience = TimeAmount.zero
    /// How long a connection may be unused before it is closed.
    package var idleTimeout = TimeAmount.seconds(50)
    package var reuse = ConnectionReuse.forRepeatable
    package var connectTimeout = TimeAmount.seconds(10)
    /// The time limit from the end of the request to the response's head.
    package var responseTimeout = TimeAmount.seconds(60)
    /// The option that sets it, for messages.
    package var responseOption: String?
    /// The maximum silence within a response body of declared length; `nil`: no limit. A body without a declared length may be silent for
    /// hours although nothing is wrong: events, a log that is followed, a tunnel.
    package var bodyTimeout: TimeAmount? = .minutes(5)
    /// How long a server may continue a WebSocket after its client has ended its direction, before that end is passed on to the
    /// server. The client has sent a close frame before, which the server is about to answer; many servers, and most with TLS,
    /// answer nothing more on a half-closed connection.
    package var webSocketClosing = TimeAmount.seconds(10)
    package var serverKind = ServerKind.origin
    /// ``UpstreamRules/siblings``
    package var siblings: (any SiblingRules)?
    package var repetition = RetryRules.Repetition.idempotent
    package var http1 = HTTP1Configuration.defaults

    /// Returns a random number from 0 to 1, which varies the pauses between attempts.
    package var jitter: @Sendable () -> Double = { .random(in: 0...1) }

    package static let defaults = Configuration()

    /// Spells field names as `X-Serial` and not as `x-serial`.
    package var capitalizesFieldNames = false

    var session: HTTP1ClientSession.Configuration {
      var session = HTTP1ClientSession.Configuration()
      session.http1 = http1
      session.targetForm = serverKind == .proxy ? .absolute : .origin
      session.idleTimeout = idleTimeout
      session.stallTimeout = responseTimeout
      session.bodyTimeout = bodyTimeout
      session.webSocketClosing = webSocketClosing
      session.capitalizesFieldNames = capitalizesFieldNames
      return session
    }
  }

  let eventLoop: any EventLoop
  let links: FailoverLinks
  var name: String { links.name }
  private let configuration: Configuration
  let rules: UpstreamRules
  private let connectionConfiguration: HTTP1ClientConnection.Configuration
  var pool: ConnectionPool<HTTP1ClientConnection>
  let timer: LazyTimer
  /// The latest channel over a line.
  private weak var stream: StreamChannel?
  var arrivals: UInt64 = 0
  let limits: ExchangeLimits

  package convenience init(
    dialer: Dialer, on eventLoop: any EventLoop, hop: String?, configuration: Configuration = .defaults,
    logger: Logger? = nil
  ) {
    self.init(links: [dialer], on: eventLoop, hop: hop, configuration: configuration, logger: logger)
  }

  /// - Parameters:
  ///   - links: dialers for the links to the same server, the best one first.
  ///   - name: the name of their common target, for messages; `nil`: the first link's.
  ///   - logger: the log of a link; `nil` for an origin, whose events its gateway reports.
  package init(
    links: [Dialer], to name: String? = nil, on eventLoop: any EventLoop, hop: String?,
    configuration: Configuration = .defaults, logger: Logger? = nil
  ) {
    self.links = FailoverLinks(
      links, name: name, logger: logger, unavailable: nil, jitter: configuration.jitter, at: eventLoop.now)
    self.eventLoop = eventLoop
    self.configuration = configuration
    connectionConfiguration = HTTP1ClientConnection.Configuration(
      name: self.links.name, responseOption: configuration.responseOption, session: configuration.session,
      readAhead: ReadAhead())
    rules = UpstreamRules(
      serverKind: configuration.serverKind, via: hop.map { "1.1 \($0)" }, siblings: configuration.siblings)
    pool = ConnectionPool(
      .init(
        maximumConnections: configuration.maximumConnections, maximumWaiting: configuration.maximumWaiting,
        patience: configuration.patience, connectTimeout: configuration.connectTimeout, reuse: configuration.reuse,
        hasSeveralLinks: self.links.areSeveral, isAwaited: false, isOpenedHere: true, jitter: configuration.jitter))
    limits = ExchangeLimits(
      queueing: configuration.queueing, response: configuration.responseTimeout,
      repetition: configuration.repetition)
    timer = LazyTimer(on: eventLoop)
    timer.fired = { [unowned self] in timePassed() }
  }

  package func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    beginInPool(request, respondingTo: sink)
  }

  package var patience: TimeAmount {
    get { pool.rules.patience }
    set { pool.rules.patience = newValue }
  }

  /// Does nothing: connections open with their exchanges.
  package func open() {}

  package func ping() -> EventLoopFuture<TimeAmount> {
    eventLoop.makeFailedFuture(
      BywayError(.invalidRequest, "A link with http=1.1 cannot be pinged: HTTP/1.1 has no PING."))
  }

  package var lineStatistics: LineStatistics? { nil }

  package var status: UpstreamStatus {
    let state: UpstreamStatus.State =
      if pool.openCount > 0 {
        interruption.map { .interrupted($0) } ?? .open(since: nil)
      } else if let lastFailure = pool.lastFailure {
        .down(lastFailure)
      } else {
        pool.dialing > 0 ? .opening : pool.hasServed ? .closed : .idle
      }
    var status = UpstreamStatus(state, links: links.status)
    status.name = name
    status.waiting = pool.waiting.count
    let idle = pool.ready.count
    if pool.openCount > 0 { status.connections = .init(active: pool.openCount - idle, idle: idle) }
    return status
  }

  private var interruption: LineInterruption? { stream?.interruption }

  package func retire() {
    pool.retire()
    advance()
  }

  /// Closes the idle connections, and reports their end; closes the others when their exchanges end.
  @discardableResult
  package func shutDown() -> EventLoopFuture<Void> {
    shutDownPool()
  }

  // MARK: For exchanges

  func admit(_ response: inout FieldSection, to request: ExchangeHead, isComplete: Bool) -> BywayError? {
    rules.admit(&response, to: request, isComplete: isComplete)
  }

  func explain(_ failure: RequestLife.Failure, processing: BywayError.Processing) -> BywayError {
    var error: BywayError
    switch failure {
    case .error(let cause): return cause
    case .silence(let time):
      error = .noResponse(from: name, within: time, configuration.responseOption)
    case .deadline where processing == .possible:
      error = .noResponse(from: name)
    case .deadline where pool.isFull && pool.dialing == 0, .waited(for: .turn) where pool.isFull:
      error = noTurn
    case .waited(for: .connection) where pool.openCount > 0:
      // The request was sent on a connection whose line was interrupted.
      let explanation = interruption?.explanation(of: name) ?? "The line of \(name) has not come back in time."
      error = BywayError(.linkUnavailable, explanation)
    case .deadline, .waited:
      error = pool.lastFailure ?? BywayError(.timedOut, "\(name) did not open in time.")
    }
    error.processing = processing
    return error
  }

  /// The server has not failed: the requests of other clients keep all connections.
  private var noTurn: BywayError {
    let count = pool.openCount
    let connections = count == 1 ? "The only connection" : "All \(count) connections"
    return BywayError(
      .refused,
      "\(connections) to \(name) stayed in use: try again later, or end some requests that stay open, such as tunnels, "
        + "event streams and downloads.")
  }

  func put(_ exchange: UpstreamExchange, on connection: HTTP1ClientConnection, at now: NIODeadline) {
    do {
      try connection.begin(exchange, at: now)
    } catch {
      exchange.turnedAway(BywayError(.invalidRequest, error.message, processing: .none))
      connectionBecameIdle(connection)
    }
  }

  func connection(over opened: OpenedLink) -> HTTP1ClientConnection {
    stream = opened.channel as? StreamChannel
    var configuration = connectionConfiguration
    configuration.hasOtherLinks = links.areSeveral
    configuration.name = links.name(of: opened.link)
    return HTTP1ClientConnection(opened.channel, opened.link, configuration, self)
  }

  func use(_ connection: HTTP1ClientConnection) {
    if let limit = stream?.streamLimit, limit != pool.rules.maximumConnections { pool.limit(to: limit) }
    if !connection.isStarted { connection.start() } else if connection.hasRoom { connectionBecameIdle(connection) }
  }

  func lineIsGone(_ connection: HTTP1ClientConnection) -> BywayError {
    BywayError(.linkLost, "The line of \(connection.name) is gone.")
  }

  func failPings(_ error: BywayError) {}
}

extension HTTP1Upstream: HTTP1ClientConnection.Delegate {
  func connectionBecameIdle(_ connection: HTTP1ClientConnection) {
    var isOnLesserLink = false
    if links.areSeveral, !pool.isOnTrial(connection) {
      if connection.isKept { links.serves(connection.link, at: eventLoop.now) }
      isOnLesserLink = connection.link > links.current ?? .max
    }
    switch pool.becameIdle(connection, isOnLesserLink: isOnLesserLink) {
    case .serve(let exchange): put(exchange, on: connection, at: eventLoop.now)
    case .keep:
      connection.keep()
      if !pool.waiting.isEmpty { advance() }
    case .close: connection.drain()
    case .nothing: break
    }
  }

  func connectionEnded(_ connection: HTTP1ClientConnection, _ error: BywayError, _ end: HTTP1ClientConnection.End) {
    var failure: BywayError?
    let now = eventLoop.now
    if !pool.isOnTrial(connection) {
      switch end {
      case .opening:
        links.failed(connection.link, error, at: now)
        failure = links.explain(error, of: connection.link)
      case .exchange where links.areSeveral && error.isOfTheWay:
        links.lost(connection.link, error, isLast: true, at: now)
      case .exchange, .idle:
        break
      }
    }
    pool.ended(connection, error, forWaiting: failure, at: now)
    // The next session of a line may have no streams.
    if pool.openCount == 0, pool.rules.maximumConnections != configuration.maximumConnections {
      pool.limit(to: configuration.maximumConnections)
    }
    advance()
  }

  func connectionInterrupted(_ connection: HTTP1ClientConnection) {
    pool.interrupted(connection, at: eventLoop.now)
    advance()
  }
}
