package import HTTP2Session
import HTTPWire
package import LineLayer
package import Logging
package import NIOCore

/// Sends exchanges over one HTTP/2 connection. It opens the connection when needed, and again after a loss, over the best of its links that
/// works.
///
/// Exchanges that find no connection wait, as long as their patience and their deadline allow: ``RequestLife``. Lives on one event loop.
package final class HTTP2Upstream: ExchangeHandler, ExchangeUpstream {
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
    package var farEnd = FarEnd.origin
    /// ``UpstreamRules/siblings``
    package var siblings: Siblings?
    package var http2 = HTTP2Configuration.defaults
    /// The error code for a failure to connect; `nil`: the code of the dialer's error.
    package var unavailable: BywayError.Code? = .linkUnavailable

    /// The use of the connections of several gateways.
    package var sharing = GatewaySharing.newest

    /// Returns a random number from 0 to 1, which varies the pauses between attempts.
    package var jitter: @Sendable () -> Double = { .random(in: 0...1) }

    package static let defaults = Configuration()
  }

  enum State {
    case idle
    case connecting
    /// The connection has opened, or stood by. Waiting exchanges get it when its remote end has answered.
    case proving(ConnectionTrial)
    case backingOff
    case connected(HTTP2ClientConnection)
    case shutDown
  }

  let eventLoop: any EventLoop
  let links: FailoverLinks
  var name: String { links.name }
  private(set) var configuration: Configuration
  let rules: UpstreamRules
  var state = State.idle
  let waiting: WaitingQueue<UpstreamExchange>
  /// Whether idle tunnels are being looked for, because exchanges wait for their turn.
  var isReclaiming = false
  private var arrivals: UInt64 = 0
  /// When the last request arrived.
  private(set) var lastUse = NIODeadline.uptimeNanoseconds(0)
  var backoff = Backoff()
  var openedAt = NIODeadline.uptimeNanoseconds(0)
  /// When a connection, or an attempt to open one, last failed.
  var lastEnd = NIODeadline.uptimeNanoseconds(0)
  var lastFailure: BywayError?
  /// When a connection that had proved itself was lost.
  var lastSeen: NIODeadline?
  var pings: [EventLoopPromise<TimeAmount>] = []
  /// Whether connections end with their exchanges.
  private(set) var isRetired = false
  /// The search for a better link than the one in use.
  var search = LinkSearch.none
  /// The wait for a gateway to dial.
  var pendingGateway = PendingGateway.none
  /// The connections of other gateways that have dialed, the latest last.
  var others: [HTTP2ClientConnection] = []
  /// A new random number whenever another remote end may answer.
  private(set) var incarnation = UInt64.random(in: .min ... .max)
  /// The title that the remote end used last has given itself.
  private(set) var title: String?

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
    waiting = WaitingQueue(on: eventLoop)
    rules = UpstreamRules(
      farEnd: configuration.farEnd, via: hop.map { "2.0 \($0)" }, siblings: configuration.siblings)
    waiting.running = { [unowned self] in working.flatMap(\.running).filter(\.isPlaced) }
  }

  package func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    arrivals += 1
    let now = eventLoop.now
    lastUse = now
    let budget = budget(until: request.deadline)
    let exchange = UpstreamExchange(
      request, sink: sink, upstream: self, arrival: arrivals, budget: budget, at: now)
    start(exchange, at: now)
    return exchange
  }

  private func budget(until deadline: NIODeadline?) -> RequestLife.Budget {
    let isPatient = configuration.patience > .zero
    return RequestLife.Budget(
      patience: isPatient ? configuration.patience : configuration.connectTimeout + .seconds(1),
      // Where the remote end dials, no attempt fails by itself, so there is no first failure that could be final.
      isPatient: isPatient || links.areAwaited, queueing: configuration.queueing,
      response: configuration.responseTimeout, deadline: deadline ?? .distantFuture)
  }

  package func open() {
    connect()
  }

  /// Measures a round trip with a PING (RFC 9113 §6.7).
  package func ping() -> EventLoopFuture<TimeAmount> {
    let promise = eventLoop.makePromise(of: TimeAmount.self)
    pings.append(promise)
    if case .connected(let connection) = state { sendPings(on: connection) } else { connect() }
    return promise.futureResult
  }

  package var lineStatistics: LineStatistics? {
    if case .connected(let connection) = state { connection.lineStatistics } else { nil }
  }

  /// Closes the connection when its exchanges have ended; waiting exchanges fail now.
  @discardableResult
  package func shutDown() -> EventLoopFuture<Void> {
    var ending = others
    switch state {
    case .connected(let connection): ending.append(connection)
    case .proving(let trial): if let other = trial.cancel() { ending.append(other) }
    case .idle, .connecting, .backingOff, .shutDown: break
    }
    if ending.isEmpty { failPings(Self.wasShutDown) }
    state = .shutDown
    endSearch()
    endAwaiting()
    links.close()
    for connection in ending { connection.drain() }
    waiting.tell { $0.turnedAway(Self.wasShutDown) }
    return .andAllComplete(ending.map(\.closed), on: eventLoop)
  }

  package var status: UpstreamStatus {
    var lastSeen = lastSeen
    let state: UpstreamStatus.State =
      if case .connected(let connection) = state {
        connection.interruption.map { .interrupted($0) } ?? .open(since: openedAt)
      } else if let lastFailure {
        .down(lastFailure)
      } else {
        isOpening ? .opening : hasServed ? .closed : .idle
      }
    if case .open = state { lastSeen = nil }
    var status = UpstreamStatus(
      state, line: lineStatistics, counts: links.counts, lastSeen: lastSeen, links: links.status)
    status.waiting = waiting.count
    for connection in openConnections {
      status.connections = status.connections + (connection.isIdle ? .init(idle: 1) : .init(active: 1))
    }
    return status
  }

  private var openConnections: [HTTP2ClientConnection] {
    if case .connected(let connection) = state { [connection] + others } else { others }
  }

  /// Whether a connection was open before.
  private var hasServed: Bool { openedAt != .uptimeNanoseconds(0) }

  private var isOpening: Bool {
    switch state {
    case .connecting, .proving, .backingOff: true
    case .idle, .connected, .shutDown: false
    }
  }

  package func retire() {
    isRetired = true
    endSearch()
    endAwaiting()
    links.stopAwaiting()
    drainIfRetired()
  }

  package var patience: TimeAmount {
    get { configuration.patience }
    set { configuration.patience = newValue }
  }

  func farEndChanged() {
    incarnation = .random(in: .min ... .max)
    if case .connected(let connection) = state { title = connection.title }
  }

  var sharing: GatewaySharing {
    get { configuration.sharing }
    set { configuration.sharing = newValue }
  }

  func drainIfRetired() {
    guard isRetired, waiting.isEmpty, case .connected(let connection) = state else { return }
    state = .idle
    for connection in [connection] + others { connection.drain() }
  }

  private static let wasShutDown = BywayError(.cancelled, "The client was shut down.", processing: .none)

  // MARK: For exchanges

  func start(_ exchange: UpstreamExchange, at now: NIODeadline) {
    switch state {
    case .connected(let connection) where mustWait(for: connection):
      wait(exchange)
    case .connected(let connection) where hasRoom(besides: connection) && waiting.isEmpty:
      put(exchange, at: now, on: connection)
      searchBetterLink()
    case .connected:
      wait(exchange)
      serveWaiting()
    case .shutDown:
      exchange.turnedAway(Self.wasShutDown)
    case .idle, .connecting, .proving, .backingOff:
      wait(exchange)
    }
  }

  /// - Parameter current: the connection in use; others may share the requests.
  func put(_ exchange: UpstreamExchange, at now: NIODeadline, on current: HTTP2ClientConnection) {
    let connection = place(for: exchange, besides: current, at: now)
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

  /// Lets an exchange wait for a connection, or for a stream on the open one.
  private func wait(_ exchange: UpstreamExchange) {
    if waiting.count >= configuration.maximumWaiting {
      let greediest = waiting.exchangeToDrop(for: exchange)
      greediest.turnedAway(
        BywayError(.refused, "Too many requests are already waiting for \(name).", processing: .none))
      if greediest === exchange { return }
    }
    let want = want
    exchange.wait(for: want)
    waiting.insert(exchange)
    if want == .turn { reclaimTunnels() }
    connect()
    // For an exchange without patience, the next attempt comes too late.
    if case .backingOff = state, let lastFailure { exchange.connectFailed(lastFailure) }
  }

  func admit(_ response: inout FieldSection, to request: FieldSection, isComplete: Bool) -> BywayError? {
    rules.admit(&response, to: request, isComplete: isComplete)
  }

  func remove(_ exchange: UpstreamExchange) {
    waiting.remove(exchange)
    if isRetired { drainIfRetired() }
  }

  func explain(_ failure: RequestLife.Failure, processing: BywayError.Processing) -> BywayError {
    switch failure {
    case .error(let error):
      return error
    case .silence(let time):
      return .noResponse(from: name, within: time, configuration.responseOption)
    case .deadline where processing == .possible:
      return .noResponse(from: name)
    case .deadline where want == .turn, .waited(for: .turn):
      return noTurn(processing)
    case .deadline, .waited(for: .connection):
      let reason =
        if case .connected(let connection) = state, let interruption = connection.interruption {
          interruption.explanation(of: name)
        } else if hasOpened {
          "\(name) opened, but nothing has come from its far end."
        } else if links.areAwaited {
          "No gateway has dialed \(name): start one with ?open=dial."
        } else {
          "\(name) did not open in time."
        }
      var error = lastFailure ?? BywayError(configuration.unavailable ?? .timedOut, reason)
      error.processing = processing
      return error
    }
  }

  private var hasOpened: Bool {
    switch state {
    case .connected, .proving: true
    case .idle, .connecting, .backingOff, .shutDown: false
    }
  }
}
