package import HTTP1Session
import HTTPWire
package import Logging
package import NIOCore

/// Sends exchanges to an HTTP/1.1 server over a pool of kept-alive connections.
///
/// Exchanges that find none wait, in the order in which they came: ``RequestLife``. An idle connection is taken last in,
/// first out, so that a quiet pool shrinks; it is checked before it is used again. Lives on one event loop.
package final class HTTP1Upstream: ExchangeHandler, ExchangeUpstream, HTTP1ClientConnection.Delegate {
  package struct Configuration: Sendable {
    /// Open connections at once; further exchanges wait for one.
    package var maximumConnections = 256
    package var maximumWaiting = 1024
    /// How long an exchange waits for one that is in use.
    package var queueing = TimeAmount.seconds(10)
    /// How long an exchange waits while none can be opened. Zero: the first failure is final.
    package var patience = TimeAmount.zero
    /// A connection unused for that long is closed.
    package var idleTimeout = TimeAmount.seconds(50)
    package var reuse = ConnectionReuse.forRepeatable
    package var connectTimeout = TimeAmount.seconds(10)
    /// From the end of the request to the response's head.
    package var responseTimeout = TimeAmount.seconds(60)
    /// The option that sets it, for messages.
    package var responseOption: String?
    /// Of silence within a response's body whose length was declared; `nil`: no limit. A body without is as long as its
    /// sender likes: events, a log that is followed, a tunnel. Those are silent for hours, and nothing is wrong.
    package var bodyTimeout: TimeAmount? = .minutes(5)
    /// How long a server may go on with a WebSocket whose client has ended its direction, before it is told so. Whoever
    /// speaks WebSocket has said it in a close frame, and is about to answer that; many servers, and most with TLS, answer
    /// nothing any more to half of a connection.
    package var webSocketClosing = TimeAmount.seconds(10)
    package var farEnd = FarEnd.origin
    /// ``UpstreamRules/siblings``
    package var siblings: Siblings?
    package var http1 = HTTP1Configuration.defaults

    /// From 0 to 1: what varies the pauses between tries.
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
    /// Serves on, and keeps nothing idle.
    case retired
    case shutDown
  }

  let eventLoop: any EventLoop
  let roads: Roads
  var name: String { roads.name }
  private(set) var configuration: Configuration
  let rules: UpstreamRules
  private let connectionConfiguration: HTTP1ClientConnection.Configuration
  var idle: [HTTP1ClientConnection] = []
  /// A better road than the one in use is tried.
  var isSearching = false
  /// The latest that goes over a line, which carries one at a time.
  private weak var stream: StreamChannel?
  private let waiting: WaitingLine<UpstreamExchange>
  private var arrivals: UInt64 = 0
  /// Connections that are open, and tries to open one.
  private(set) var connectionCount = 0
  var waitingCount: Int { waiting.count }
  var idleCount: Int { idle.count }
  var interruption: LineInterruption? { stream?.interruption }
  private(set) var dialCount = 0
  private var backoff = Backoff()
  private var isBackingOff = false
  /// A connection was good for an exchange at least.
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
    self.init(roads: [dialer], on: eventLoop, hop: hop, configuration: configuration, logger: logger)
  }

  /// - Parameters:
  ///   - roads: to the same server, the better one first.
  ///   - name: of the place that they lead to, for messages; `nil`: the first road's.
  ///   - logger: of a link; what befalls an origin is its gateway's to tell.
  package init(
    roads: [Dialer], to name: String? = nil, on eventLoop: any EventLoop, hop: String?,
    configuration: Configuration = .defaults, logger: Logger? = nil
  ) {
    self.roads = Roads(
      roads, name: name, logger: logger, unavailable: nil, jitter: configuration.jitter, at: eventLoop.now)
    self.eventLoop = eventLoop
    self.configuration = configuration
    connectionConfiguration = HTTP1ClientConnection.Configuration(
      name: self.roads.name, responseOption: configuration.responseOption, session: configuration.session,
      readAhead: ReadAhead())
    waiting = WaitingLine(on: eventLoop)
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

  /// Closes the idle connections, whose end it reports; the others when their exchanges end.
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
    if roads.areSeveral { searchBetterRoad(at: now) }
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
      let greediest = waiting.leaver(for: exchange)
      greediest.turnedAway(
        BywayError(.refused, "Too many requests are already waiting for \(name).", processing: .none))
      if greediest === exchange { return }
    }
    exchange.wait(for: want)
    waiting.insert(exchange)
    // The new connection replaces an idle one: a server with few workers must not fill up with idle connections.
    if !isFull { closeOldestIdle() }
    serve()
  }

  func admit(_ response: inout FieldSection, to request: FieldSection, isComplete: Bool) -> BywayError? {
    rules.admit(&response, to: request, isComplete: isComplete)
  }

  func leave(_ exchange: UpstreamExchange) {
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
    case .waited(for: .turn):
      error = BywayError(.timedOut, "All connections to \(name) were in use for too long.")
    case .waited(for: .connection) where connectionCount > 0:
      // It had one, on trust.
      let explanation = interruption?.explanation(of: name) ?? "The line of \(name) has not come back in time."
      error = BywayError(.linkUnavailable, explanation)
    case .deadline, .waited(for: .connection):
      error = lastFailure ?? BywayError(.timedOut, "\(name) did not open in time.")
    }
    error.processing = processing
    return error
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

  /// What those wait for that wait has changed.
  private func wantChanged() {
    waiting.tell { $0.wait(for: want) }
  }

  // MARK: From connections

  func connectionBecameIdle(_ connection: HTTP1ClientConnection) {
    lastFailure = nil
    hasServed = true
    backoff.reset()
    if roads.areSeveral, connection.isKept { roads.serves(connection.road, at: eventLoop.now) }
    if let exchange = takeWaiting(for: connection) {
      put(exchange, on: connection, at: eventLoop.now)
    } else if isServing, !isOnLesserRoad(connection) {
      connection.keep()
      idle.append(connection)
      serve()
    } else {
      connection.close()
    }
  }

  private func takeWaiting(for connection: HTTP1ClientConnection) -> UpstreamExchange? {
    guard connection.isKept else { return waiting.popNext() }
    // At the limit nobody overtakes a request that needs a new connection: this one is closed to make room for it.
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
      roads.failed(connection.road, error, at: eventLoop.now)
      return connectFailed(roads.explain(error, of: connection.road))
    case .exchange where roads.areSeveral && error.isOfTheWay:
      roads.lost(connection.road, error, isLast: true, at: eventLoop.now)
    case .exchange, .idle:
      break
    }
    hasServed = true
    serve()
  }

  // MARK: Opening

  /// Opens a connection for each exchange that waits, as far as there may be more.
  private func serve() {
    guard !isBackingOff, !isShutDown else { return }
    while dialCount < waiting.count {
      guard !isFull else { return closeOldestIdle() }
      dial()
    }
  }

  private func dial() {
    dialCount += 1
    roads.dial(on: eventLoop, deadline: eventLoop.now + timeToConnect).assumeIsolated().whenComplete { result in
      self.dialCount -= 1
      switch result {
      case .success(let opened): self.opened(opened)
      case .failure(let error): self.connectFailed(self.roads.explain(error))
      }
    }
  }

  private func opened(_ opened: OpenedRoad) {
    connectionOpens()
    stream = opened.channel as? StreamChannel
    start(opened, for: self)
  }

  func connectionOpens() {
    connectionCount += 1
    if connectionCount == 1 { wantChanged() }
  }

  func start(_ opened: OpenedRoad, for delegate: any HTTP1ClientConnection.Delegate) {
    var configuration = connectionConfiguration
    configuration.hasOtherRoads = roads.areSeveral
    configuration.name = roads.name(of: opened.road)
    HTTP1ClientConnection.start(on: opened.channel, road: opened.road, configuration: configuration, delegate: delegate)
  }

  /// A first try ends before the patience of those who wait does, so that they can be told its reason. After that a reason is
  /// known, and a link that takes longer to open than anybody waits gets its time.
  private var timeToConnect: TimeAmount {
    guard configuration.patience > .zero, lastFailure == nil else { return configuration.connectTimeout }
    return min(configuration.connectTimeout, .nanoseconds(configuration.patience.nanoseconds / 10 * 9))
  }

  private func connectFailed(_ failure: BywayError) {
    lastFailure = failure
    if configuration.patience > .zero {
      backOff()
    } else if dialCount < waiting.count {
      // It was this one's try.
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
