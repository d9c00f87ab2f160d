package import HTTP1Session
import HTTPWire
package import Logging
package import NIOCore

/// Sends exchanges to an HTTP/1.1 server over a pool of kept-alive connections.
///
/// Exchanges that find no connection wait in the order of arrival: ``RequestLife``. Idle connections are taken last in, first out, so that
/// a quiet pool shrinks. Each is checked before it is used again. Lives on one event loop.
package final class HTTP1Upstream: ExchangeHandler, ExchangeUpstream, HTTP1ClientConnection.Delegate {
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
    package var farEnd = FarEnd.origin
    /// ``UpstreamRules/siblings``
    package var siblings: Siblings?
    package var http1 = HTTP1Configuration.defaults

    /// Returns a random number from 0 to 1, which varies the pauses between attempts.
    package var jitter: @Sendable () -> Double = { .random(in: 0...1) }

    package static let defaults = Configuration()

    /// Spells field names as `X-Serial` and not as `x-serial`.
    package var capitalizesFieldNames = false

    var session: HTTP1ClientSession.Configuration {
      var session = HTTP1ClientSession.Configuration()
      session.http1 = http1
      session.targetForm = farEnd == .proxy ? .absolute : .origin
      session.idleTimeout = idleTimeout
      session.stallTimeout = responseTimeout
      session.bodyTimeout = bodyTimeout
      session.webSocketClosing = webSocketClosing
      session.capitalizesFieldNames = capitalizesFieldNames
      return session
    }
  }

  private enum Life {
    case serving
    /// Finishes its exchanges, and keeps no idle connections.
    case retired
    case shutDown
  }

  let eventLoop: any EventLoop
  let links: FailoverLinks
  var name: String { links.name }
  private(set) var configuration: Configuration
  let rules: UpstreamRules
  private let connectionConfiguration: HTTP1ClientConnection.Configuration
  var idle: [HTTP1ClientConnection] = []
  /// Whether a better link than the one in use is being tried.
  var isSearching = false
  /// The latest channel over a line, which carries one at a time.
  private weak var stream: StreamChannel?
  private let waiting: WaitingQueue<UpstreamExchange>
  private var arrivals: UInt64 = 0
  /// Open connections, and attempts to open one.
  private(set) var connectionCount = 0
  var waitingCount: Int { waiting.count }
  var idleCount: Int { idle.count }
  var interruption: LineInterruption? { stream?.interruption }
  private(set) var dialCount = 0
  private var backoff = Backoff()
  private var isBackingOff = false
  /// Whether a connection could carry an exchange at least once.
  private(set) var hasServed = false
  private(set) var lastFailure: BywayError?
  private var life = Life.serving
  var isServing: Bool {
    if case .serving = life { true } else { false }
  }

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
    waiting = WaitingQueue(on: eventLoop)
    rules = UpstreamRules(
      farEnd: configuration.farEnd, via: hop.map { "1.1 \($0)" }, siblings: configuration.siblings)
  }

  package func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    arrivals += 1
    let now = eventLoop.now
    let budget = budget(until: request.deadline)
    let exchange = UpstreamExchange(
      request, sink: sink, upstream: self, arrival: arrivals, budget: budget, at: now)
    start(exchange, at: now)
    return exchange
  }

  private func budget(until deadline: NIODeadline?) -> RequestLife.Budget {
    let isPatient = configuration.patience > .zero
    return RequestLife.Budget(
      patience: isPatient ? configuration.patience : configuration.connectTimeout + .seconds(1), isPatient: isPatient,
      queueing: configuration.queueing, response: configuration.responseTimeout, deadline: deadline ?? .distantFuture)
  }

  /// Closes the idle connections, and reports their end; closes the others when their exchanges end.
  @discardableResult
  package func shutDown() -> EventLoopFuture<Void> {
    life = .shutDown
    waiting.tell { $0.turnedAway(Self.wasShutDown) }
    return .andAllComplete(closeIdle(), on: eventLoop)
  }

  package func retire() {
    guard case .serving = life else { return }
    life = .retired
    _ = closeIdle()
  }

  private func closeIdle() -> [EventLoopFuture<Void>] {
    defer { idle = [] }
    return idle.map { $0.close() }
  }

  package var patience: TimeAmount {
    get { configuration.patience }
    set { configuration.patience = newValue }
  }

  private var isShutDown: Bool {
    if case .shutDown = life { true } else { false }
  }

  private static let wasShutDown = BywayError(.cancelled, "The client was shut down.", processing: .none)

  // MARK: For exchanges

  func start(_ exchange: UpstreamExchange, at now: NIODeadline) {
    if links.areSeveral { searchBetterLink(at: now) }
    if let connection = takeIdle(for: exchange) {
      put(exchange, on: connection, at: now)
    } else if isShutDown {
      exchange.turnedAway(Self.wasShutDown)
    } else {
      wait(exchange)
    }
  }

  private func wait(_ exchange: UpstreamExchange) {
    if waiting.count >= configuration.maximumWaiting {
      let greediest = waiting.exchangeToDrop(for: exchange)
      greediest.turnedAway(
        BywayError(.refused, "Too many requests are already waiting for \(name).", processing: .none))
      if greediest === exchange { return }
    }
    exchange.wait(for: want)
    waiting.insert(exchange)
    // The new connection replaces an idle one: idle connections must not occupy all workers of a server that has few.
    if !isFull { closeOldestIdle() }
    serve()
  }

  func admit(_ response: inout FieldSection, to request: FieldSection, isComplete: Bool) -> BywayError? {
    rules.admit(&response, to: request, isComplete: isComplete)
  }

  func remove(_ exchange: UpstreamExchange) {
    waiting.remove(exchange)
  }

  func explain(_ failure: RequestLife.Failure, processing: BywayError.Processing) -> BywayError {
    var error: BywayError
    switch failure {
    case .error(let cause): return cause
    case .silence(let time):
      error = .noResponse(from: name, within: time, configuration.responseOption)
    case .deadline where processing == .possible:
      error = .noResponse(from: name)
    case .deadline where isFull && dialCount == 0, .waited(for: .turn) where isFull:
      error = noTurn
    case .waited(for: .connection) where connectionCount > 0:
      // The request was sent on a connection whose line was interrupted.
      let explanation = interruption?.explanation(of: name) ?? "The line of \(name) has not come back in time."
      error = BywayError(.linkUnavailable, explanation)
    case .deadline, .waited:
      error = lastFailure ?? BywayError(.timedOut, "\(name) did not open in time.")
    }
    error.processing = processing
    return error
  }

  /// The server has not failed: the requests of other clients keep all connections.
  private var noTurn: BywayError {
    let connections = connectionCount == 1 ? "The only connection" : "All \(connectionCount) connections"
    return BywayError(
      .refused,
      "\(connections) to \(name) stayed in use: try again later, or end some requests that stay open, such as tunnels, "
        + "event streams and downloads.")
  }

  private func put(_ exchange: UpstreamExchange, on connection: HTTP1ClientConnection, at now: NIODeadline) {
    do {
      try connection.begin(exchange, at: now)
    } catch {
      exchange.turnedAway(BywayError(.invalidRequest, error.message, processing: .none))
      connectionBecameIdle(connection)
    }
  }

  private func takeIdle(for exchange: UpstreamExchange) -> HTTP1ClientConnection? {
    guard configuration.reuse.permits(exchange.isRepeatable) else { return nil }
    while let connection = idle.popLast() {
      if connection.isUsable, !mustLeave(connection) { return connection }
      connection.close()
    }
    return nil
  }

  private func closeOldestIdle() {
    if !idle.isEmpty { idle.removeFirst().close() }
  }

  private var isFull: Bool { connectionCount + dialCount >= configuration.maximumConnections }

  private var want: RequestLife.Want { connectionCount == 0 ? .connection : .turn }

  /// Tells the waiting exchanges what they wait for now.
  private func wantChanged() {
    waiting.tell { $0.wait(for: want) }
  }

  // MARK: From connections

  func connectionBecameIdle(_ connection: HTTP1ClientConnection) {
    lastFailure = nil
    hasServed = true
    backoff.reset()
    if links.areSeveral, connection.isKept { links.serves(connection.link, at: eventLoop.now) }
    if let exchange = takeWaiting(for: connection) {
      put(exchange, on: connection, at: eventLoop.now)
    } else if isServing, !isOnLesserLink(connection) {
      connection.keep()
      idle.append(connection)
      serve()
    } else {
      connection.close()
    }
  }

  private func takeWaiting(for connection: HTTP1ClientConnection) -> UpstreamExchange? {
    guard connection.isKept else { return waiting.popNext() }
    // At the limit nothing overtakes a request that needs a new connection: this connection is closed to make room for it.
    if isFull, dialCount == 0, let next = waiting.next, !configuration.reuse.permits(next.isRepeatable) {
      return nil
    }
    return waiting.popNext { configuration.reuse.permits($0.isRepeatable) }
  }

  func connectionEnded(_ connection: HTTP1ClientConnection, _ error: BywayError, _ end: HTTP1ClientConnection.End) {
    connectionCount -= 1
    idle.removeAll { $0 === connection }
    if connectionCount == 0 { wantChanged() }
    switch end {
    case .opening:
      links.failed(connection.link, error, at: eventLoop.now)
      return connectFailed(links.explain(error, of: connection.link))
    case .exchange where links.areSeveral && error.isOfTheWay:
      links.lost(connection.link, error, isLast: true, at: eventLoop.now)
    case .exchange, .idle:
      break
    }
    hasServed = true
    serve()
  }

  // MARK: Opening

  /// Opens a connection for each waiting exchange, up to the limit.
  private func serve() {
    guard !isBackingOff, !isShutDown else { return }
    while dialCount < waiting.count {
      guard !isFull else { return closeOldestIdle() }
      dial()
    }
  }

  private func dial() {
    dialCount += 1
    links.dial(on: eventLoop, deadline: eventLoop.now + timeToConnect).assumeIsolated().whenComplete { result in
      self.dialCount -= 1
      switch result {
      case .success(let opened): self.opened(opened)
      case .failure(let error): self.connectFailed(self.links.explain(error))
      }
    }
  }

  private func opened(_ opened: OpenedLink) {
    connectionOpens()
    stream = opened.channel as? StreamChannel
    start(opened, for: self)
  }

  func connectionOpens() {
    connectionCount += 1
    if connectionCount == 1 { wantChanged() }
  }

  func start(_ opened: OpenedLink, for delegate: any HTTP1ClientConnection.Delegate) {
    var configuration = connectionConfiguration
    configuration.hasOtherLinks = links.areSeveral
    configuration.name = links.name(of: opened.link)
    HTTP1ClientConnection.start(on: opened.channel, link: opened.link, configuration: configuration, delegate: delegate)
  }

  /// The first attempt ends before the patience of the waiting exchanges, so that they fail with its reason. Once a reason is known, a link
  /// gets the full time, even if it takes longer to open than an exchange waits.
  private var timeToConnect: TimeAmount {
    guard configuration.patience > .zero, lastFailure == nil else { return configuration.connectTimeout }
    return min(configuration.connectTimeout, .nanoseconds(configuration.patience.nanoseconds / 10 * 9))
  }

  private func connectFailed(_ failure: BywayError) {
    lastFailure = failure
    if configuration.patience > .zero {
      backOff()
    } else if dialCount < waiting.count {
      // This attempt was for that exchange.
      waiting.first?.connectFailed(failure)
      serve()
    }
  }

  private func backOff() {
    backoff.fail()
    guard !isBackingOff else { return }
    isBackingOff = true
    eventLoop.assumeIsolated().scheduleTask(in: backoff.pause(fraction: configuration.jitter())) {
      self.isBackingOff = false
      self.serve()
    }
  }
}
