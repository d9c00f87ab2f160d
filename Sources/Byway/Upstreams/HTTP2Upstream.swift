package import BywayHTTP2Session
import BywayHTTPWire
package import BywayLineLayer
package import Logging
package import NIOCore

/// Sends exchanges over one HTTP/2 connection. It opens the connection when needed, and again after a loss, over the best of its links that
/// works.
///
/// Exchanges that find no connection wait, as long as their patience and their deadline allow: ``RequestLife``. Lives on one event loop.
package final class HTTP2Upstream: Upstream, PooledUpstream {
  package struct Configuration: Sendable {
    /// How long an exchange waits for the connection in total. Zero: the first failure to open it is final.
    package var patience = TimeAmount.seconds(5)
    /// How long an exchange waits for a stream while the remote end allows no more.
    package var queueing = TimeAmount.seconds(10)
    /// The time limit from the end of a request to the response's head; `nil`: no limit.
    package var responseTimeout: TimeAmount?
    /// The option that sets it, for messages.
    package var responseOption: String?
    package var connectTimeout = TimeAmount.seconds(10)
    /// How many exchanges may wait for the connection.
    package var maximumWaiting = 1024
    package var serverKind = ServerKind.origin
    /// ``UpstreamRules/siblings``
    package var siblings: (any SiblingRules)?
    package var repetition = RetryRules.Repetition.idempotent
    package var http2 = HTTP2Configuration.defaults
    /// The error code for a failure to connect; `nil`: the code of the dialer's error.
    package var unavailable: BywayError.Code? = .linkUnavailable

    /// Whether a connection that was opened once is opened again after each loss, although no exchange needs it.
    package var isKeptOpen = false

    /// The use of the connections of several gateways.
    package var sharing = GatewaySharing.newest

    /// Returns a random number from 0 to 1, which varies the pauses between attempts.
    package var jitter: @Sendable () -> Double = { .random(in: 0...1) }

    package static let defaults = Configuration()
  }

  let eventLoop: any EventLoop
  let links: FailoverLinks
  var name: String { links.name }
  private let configuration: Configuration
  let rules: UpstreamRules
  var pool: ConnectionPool<HTTP2ClientConnection>
  let timer: LazyTimer
  var arrivals: UInt64 = 0
  let limits: ExchangeLimits
  private var openedAt = NIODeadline.uptimeNanoseconds(0)
  /// When a connection that had proved itself was lost.
  private var lastSeen: NIODeadline?
  private var pings: [EventLoopPromise<TimeAmount>] = []
  /// A new random number whenever another remote end may answer.
  package private(set) var incarnation = UInt64.random(in: .min ... .max)
  /// The title that the remote end used last has given itself.
  package private(set) var title: String?

  package convenience init(
    dialer: Dialer, on eventLoop: any EventLoop, hop: String?, configuration: Configuration = .defaults, logger: Logger
  ) {
    self.init(links: [dialer], on: eventLoop, hop: hop, configuration: configuration, logger: logger)
  }

  /// - Parameters:
  ///   - links: dialers for the links to the same remote end, the best one first.
  ///   - name: the name of their common target, for messages; `nil`: the first link's.
  package init(
    links: [Dialer], to name: String? = nil, on eventLoop: any EventLoop, hop: String?,
    configuration: Configuration = .defaults, logger: Logger
  ) {
    self.links = FailoverLinks(
      links, name: name, logger: logger, unavailable: configuration.unavailable, jitter: configuration.jitter,
      at: eventLoop.now)
    self.eventLoop = eventLoop
    self.configuration = configuration
    rules = UpstreamRules(
      serverKind: configuration.serverKind, via: hop.map { "2.0 \($0)" }, siblings: configuration.siblings)
    pool = ConnectionPool(
      .init(
        maximumWaiting: configuration.maximumWaiting, patience: configuration.patience,
        connectTimeout: configuration.connectTimeout, sharing: configuration.sharing,
        isKeptOpen: configuration.isKeptOpen,
        hasSeveralLinks: self.links.areSeveral, isAwaited: self.links.areAwaited,
        isOpenedHere: self.links.isOpenedHere, jitter: configuration.jitter))
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

  package var sharing: GatewaySharing {
    get { pool.rules.sharing }
    set { pool.rules.sharing = newValue }
  }

  package func open() {
    pool.open()
    advance()
  }

  /// Measures a round trip with a PING (RFC 9113 §6.7).
  package func ping() -> EventLoopFuture<TimeAmount> {
    if pool.life == .shutDown { return eventLoop.makeFailedFuture(Self.wasShutDown) }
    let promise = eventLoop.makePromise(of: TimeAmount.self)
    pings.append(promise)
    if let connection = pool.current { connection.ping() } else { open() }
    return promise.futureResult
  }

  func failPings(_ error: BywayError) {
    let failed = pings
    pings = []
    for promise in failed { promise.fail(error) }
  }

  package var lineStatistics: LineStatistics? { pool.current?.lineStatistics }

  package var status: UpstreamStatus {
    var lastSeen = lastSeen
    let state: UpstreamStatus.State =
      if let connection = pool.current {
        connection.interruption.map { .interrupted($0) } ?? .open(since: openedAt)
      } else if let lastFailure = pool.lastFailure {
        .down(lastFailure)
      } else {
        pool.isOpening ? .opening : pool.hasServed ? .closed : .idle
      }
    if case .open = state { lastSeen = nil }
    var status = UpstreamStatus(
      state, line: lineStatistics, counts: links.counts, lastSeen: lastSeen, links: links.status)
    status.name = name
    status.waiting = pool.waiting.count
    status.nextAttempt = pool.pauseEnd
    for connection in pool.ready {
      status.connections = status.connections + (connection.isIdle ? .init(idle: 1) : .init(active: 1))
    }
    return status
  }

  package func retire() {
    pool.retire()
    links.stopAwaiting()
    advance()
  }

  /// Closes the connection when its exchanges have ended; waiting exchanges fail now.
  @discardableResult
  package func shutDown() -> EventLoopFuture<Void> {
    links.close()
    return shutDownPool()
  }

  /// Switches to a connection of a gateway that has dialed.
  package func adopt(_ connection: HTTP2ClientConnection) {
    if pool.life != .shutDown { connection.handOver(to: self) }
    pool.adopt(connection, at: eventLoop.now)
    advance()
  }

  /// Hands out its connection for another upstream, and takes no more requests.
  package func releaseConnection() -> HTTP2ClientConnection? {
    let connection = pool.release()
    connection?.leaveUpstream()
    return connection
  }

  private func peerChanged() {
    incarnation = .random(in: .min ... .max)
    if let current = pool.current { title = current.title }
  }

  // MARK: For exchanges

  func admit(_ response: inout FieldSection, to request: ExchangeHead, isComplete: Bool) -> BywayError? {
    rules.admit(&response, to: request, isComplete: isComplete)
  }

  func explain(_ failure: RequestLife.Failure, processing: BywayError.Processing) -> BywayError {
    switch failure {
    case .error(let error):
      return error
    case .silence(let time):
      return .noResponse(from: name, within: time, configuration.responseOption)
    case .deadline where processing == .possible:
      return .noResponse(from: name)
    case .deadline where pool.want == .turn, .waited(for: .turn):
      return noTurn(processing)
    case .deadline, .waited(for: .connection):
      let reason =
        if let interruption = pool.current?.interruption {
          interruption.explanation(of: name)
        } else if pool.current != nil || pool.proving != nil {
          "\(name) opened, but nothing has come from its far end."
        } else if links.areAwaited {
          "No gateway has dialed \(name): start one with ?open=dial."
        } else {
          "\(name) did not open in time."
        }
      var error = pool.lastFailure ?? BywayError(configuration.unavailable ?? .timedOut, reason)
      error.processing = processing
      return error
    }
  }

  /// Explains why a request got no stream.
  private func noTurn(_ processing: BywayError.Processing) -> BywayError {
    let limit = pool.streamLimit
    let reason =
      limit == 0
      ? "\(name) takes no requests at the moment: try again later."
      : "\(name) takes \(limit) requests at once, and none of them ended in time: try again later, or end some that "
        + "stay open, such as tunnels, event streams and downloads."
    return BywayError(.refused, reason, processing: processing)
  }

  func put(_ exchange: UpstreamExchange, on connection: HTTP2ClientConnection, at now: NIODeadline) {
    if let refusal = rules.judgeUpgrade(exchange.head.fields, isKnown: connection.knowsExtendedConnect) {
      exchange.turnedAway(refusal)
      return
    }
    do {
      try connection.begin(exchange, at: now)
    } catch {
      // Another connection may take it, unless this one does not speak HTTP/2 at all.
      connectionRefusesStreams(connection)
      switch error.kind {
      case .closing, .unresponsive, .silent, .exhausted: start(exchange, at: now)
      case .notHTTP2, .violation, .flooded: exchange.turnedAway(connection.explain(error))
      }
    }
  }

  func connection(over opened: OpenedLink) -> HTTP2ClientConnection {
    let connection = HTTP2ClientConnection(
      on: opened.channel, name: links.name(of: opened.link), link: opened.link, configuration: configuration.http2,
      watchesLine: links.areSeveral, rules: rules)
    connection.handOver(to: self)
    return connection
  }

  func use(_ connection: HTTP2ClientConnection) {
    peerChanged()
    openedAt = eventLoop.now
    links.taken(connection.link, at: openedAt)
    if !connection.isStarted { connection.start() }
    if !pings.isEmpty, pool.current === connection { connection.ping() }
  }

  func lineIsGone(_ connection: HTTP2ClientConnection) -> BywayError {
    BywayError(.linkLost, "The line of \(connection.name) is gone or silent.")
  }
}

extension HTTP2Upstream: HTTP2ClientConnection.Delegate {
  func connectionProved(_ connection: HTTP2ClientConnection) {
    pool.proved(connection)
    advance()
  }

  func connectionRefusesAll(_ connection: HTTP2ClientConnection) {
    if links.areSeveral { connection.drainRefusing() }
  }

  func connectionRefusesStreams(_ connection: HTTP2ClientConnection) {
    leaves(connection)
    pool.refuses(connection, at: eventLoop.now)
    advance()
  }

  func connectionHasRoom(_ connection: HTTP2ClientConnection) {
    if !pool.waiting.isEmpty { advance() }
  }

  func connectionInterrupted(_ connection: HTTP2ClientConnection) {
    pool.interrupted(connection, at: eventLoop.now)
    advance()
  }

  func connectionResumed(_ connection: HTTP2ClientConnection) {
    pool.resumed(connection)
    advance()
  }

  func connectionEnded(_ connection: HTTP2ClientConnection, _ error: BywayError?) {
    let now = eventLoop.now
    if !pool.isOnTrial(connection) {
      lastSeen = now
      let current = pool.current
      let isLast = current.map { $0 === connection || $0.link != connection.link } ?? true
      if let error {
        links.lost(connection.link, error, isLast: isLast, at: now)
      } else {
        links.closed(connection.link, isLast: isLast, at: now)
      }
      leaves(connection)
    }
    pool.ended(connection, error, forWaiting: error.map { links.explain($0) }, at: now)
    advance()
  }

  /// A connection gets no more exchanges.
  private func leaves(_ connection: HTTP2ClientConnection) {
    if pool.isOnTrial(connection) { return }
    let isCurrent = pool.current === connection
    if isCurrent || sharing == .balanced { peerChanged() }
    // Recorded before its end, and before its exchanges look for another link.
    if isCurrent, let failure = connection.failure { links.failing(connection.link, failure, at: eventLoop.now) }
  }

  func ponged(_ connection: HTTP2ClientConnection, _ roundTrip: TimeAmount) {
    if pool.ponged(connection, links.table, at: eventLoop.now) { return advance() }
    if pool.current === connection, !pings.isEmpty { pings.removeFirst().succeed(roundTrip) }
  }
}
