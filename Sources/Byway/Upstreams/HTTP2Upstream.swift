package import HTTP2Session
import HTTPWire
package import LineLayer
package import Logging
package import NIOCore

/// Sends exchanges over one HTTP/2 connection, which it opens when it is needed and opens again when it was lost.
///
/// Exchanges that find no connection wait, for as long as their patience and their deadline allow: ``RequestLife``. Lives on
/// one event loop.
package final class HTTP2Upstream: ExchangeHandler, ExchangeUpstream, HTTP2ClientConnection.Delegate {
  package struct Configuration: Sendable {
    /// How long an exchange waits for the connection, in all. Zero: the first failure to open it is final.
    package var patience = TimeAmount.seconds(5)
    /// From the end of a request to the response's head; `nil`: no limit.
    package var responseTimeout: TimeAmount?
    /// The option that sets it, for messages.
    package var responseOption: String?
    package var connectTimeout = TimeAmount.seconds(10)
    /// Exchanges that may wait for the connection at once.
    package var maximumWaiting = 1024
    package var farEnd = FarEnd.origin
    /// ``UpstreamRules/siblings``
    package var siblings: DeviceHosts?
    package var http2 = HTTP2Configuration.defaults
    /// What to call the failure to connect; `nil`: what the dialer calls it.
    package var unavailable: BywayError.Code? = .linkUnavailable

    /// From 0 to 1: what varies the pauses between tries.
    package var jitter: @Sendable () -> Double = { .random(in: 0...1) }

    package static let defaults = Configuration()
  }

  private enum State {
    case idle
    case connecting
    case backingOff
    case connected(HTTP2ClientConnection)
    case shutDown
  }

  let eventLoop: any EventLoop
  let dialer: Dialer
  var name: String { dialer.name }
  private(set) var configuration: Configuration
  let rules: UpstreamRules
  private var log: LinkLog
  private var state = State.idle
  private let waiting: WaitingLine<UpstreamExchange>
  private var arrivals: UInt64 = 0
  private var backoff = Backoff()
  private var openedAt = NIODeadline.uptimeNanoseconds(0)
  /// When a connection, or a try to open one, last came to nothing.
  private var lastEnd = NIODeadline.uptimeNanoseconds(0)
  private var lastFailure: BywayError?
  /// When a connection that had proved itself was lost.
  private var lastSeen: NIODeadline?
  private var pings: [EventLoopPromise<TimeAmount>] = []
  /// No connection outlives its exchanges.
  private var isRetired = false

  package init(
    dialer: Dialer, on eventLoop: any EventLoop, hop: String?, configuration: Configuration = .defaults, logger: Logger
  ) {
    self.dialer = dialer
    self.eventLoop = eventLoop
    self.configuration = configuration
    log = LinkLog(logger, name: dialer.name)
    waiting = WaitingLine(on: eventLoop)
    rules = UpstreamRules(
      farEnd: configuration.farEnd, via: hop.map { "2.0 \($0)" }, siblings: configuration.siblings)
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
      patience: isPatient ? configuration.patience : configuration.connectTimeout + .seconds(1),
      // Where the far end dials no failure comes by itself that could be the first and final one.
      isPatient: isPatient || dialer.inbound != nil,
      response: configuration.responseTimeout, deadline: deadline ?? .distantFuture)
  }

  package func open() {
    connect()
  }

  /// With a PING (RFC 9113 §6.7).
  package func ping() -> EventLoopFuture<TimeAmount> {
    let promise = eventLoop.makePromise(of: TimeAmount.self)
    pings.append(promise)
    if case .connected(let connection) = state { sendPings(on: connection) } else { connect() }
    return promise.futureResult
  }

  package var lineStatistics: LineStatistics? {
    if case .connected(let connection) = state { connection.lineStatistics } else { nil }
  }

  /// Ends the connection when its exchanges have ended; those that still wait fail now.
  @discardableResult
  package func shutDown() -> EventLoopFuture<Void> {
    var closed = eventLoop.makeSucceededVoidFuture()
    if case .connected(let connection) = state {
      closed = connection.closed
      connection.drain()
    }
    state = .shutDown
    if let inbound = dialer.inbound { Task { await inbound.close() } }
    waiting.tell { $0.turnedAway(Self.wasShutDown) }
    return closed
  }

  package var status: UpstreamStatus {
    switch state {
    case .connected(let connection):
      var status = UpstreamStatus(.open(since: openedAt), line: lineStatistics, counts: log.counts)
      status.connections = connection.isIdle ? .init(idle: 1) : .init(active: 1)
      return status
    case .idle, .connecting, .backingOff, .shutDown:
      if let lastFailure {
        return UpstreamStatus(.down(lastFailure), counts: log.counts, lastSeen: lastSeen)
      } else {
        return UpstreamStatus(
          isOpening ? .opening : hasServed ? .closed : .idle, counts: log.counts, lastSeen: lastSeen)
      }
    }
  }

  /// A connection was open before.
  private var hasServed: Bool { openedAt != .uptimeNanoseconds(0) }

  private var isOpening: Bool {
    switch state {
    case .connecting, .backingOff: true
    case .idle, .connected, .shutDown: false
    }
  }

  package func retire() {
    isRetired = true
    if let inbound = dialer.inbound { Task { await inbound.close() } }
    leaveConnection()
  }

  package var patience: TimeAmount {
    get { configuration.patience }
    set { configuration.patience = newValue }
  }

  private func leaveConnection() {
    guard isRetired, case .connected(let connection) = state else { return }
    state = .idle
    connection.drain()
  }

  private static let wasShutDown = BywayError(.cancelled, "The client was shut down.", processing: .none)

  // MARK: For exchanges

  func start(_ exchange: UpstreamExchange, at now: NIODeadline) {
    switch state {
    case .connected(let connection):
      put(exchange, on: connection, at: now)
    case .shutDown:
      exchange.turnedAway(Self.wasShutDown)
    case .idle, .connecting, .backingOff:
      wait(exchange)
    }
  }

  private func put(_ exchange: UpstreamExchange, on connection: HTTP2ClientConnection, at now: NIODeadline) {
    do {
      try connection.begin(exchange, at: now)
    } catch {
      // Another connection may take it, unless this is not HTTP/2 at all.
      connectionRefusesStreams(connection)
      switch error.kind {
      case .closing, .unresponsive, .exhausted: start(exchange, at: now)
      case .notHTTP2, .violation, .flooded: exchange.turnedAway(connection.explain(error))
      }
    }
  }

  private func wait(_ exchange: UpstreamExchange) {
    guard waiting.count < configuration.maximumWaiting else {
      exchange.turnedAway(
        BywayError(.refused, "Too many requests are already waiting for \(dialer.name).", processing: .none))
      return
    }
    exchange.wait(for: .connection)
    waiting.insert(exchange)
    connect()
    // There will be no try in time for one that has no patience.
    if case .backingOff = state, let lastFailure { exchange.connectFailed(lastFailure) }
  }

  func admit(_ response: inout FieldSection) -> BywayError? {
    rules.admit(&response)
  }

  func leave(_ exchange: UpstreamExchange) {
    waiting.remove(exchange)
  }

  func explain(_ failure: RequestLife.Failure, processing: BywayError.Processing) -> BywayError {
    switch failure {
    case .error(let error):
      return error
    case .silence(let time):
      return .noResponse(from: dialer.name, within: time, configuration.responseOption)
    case .deadline where processing == .possible:
      return .noResponse(from: dialer.name)
    case .deadline, .waited:
      let reason =
        if case .connected(let connection) = state, connection.isInterrupted {
          "The line of \(dialer.name) is gone, and has not come back in time."
        } else if case .connected = state {
          "\(dialer.name) opened, but nothing has come from its far end."
        } else if dialer.inbound == nil {
          "\(dialer.name) did not open in time."
        } else {
          "No gateway has dialed \(dialer.name): start one with ?open=dial."
        }
      var error = lastFailure ?? BywayError(configuration.unavailable ?? .timedOut, reason)
      error.processing = processing
      return error
    }
  }

  // MARK: From the connection

  func connectionProved(_ connection: HTTP2ClientConnection) {
    backoff.reset()
    lastFailure = nil
  }

  func connectionRefusesStreams(_ connection: HTTP2ClientConnection) {
    guard case .connected(let current) = state, current === connection else { return }
    state = .idle
    // The next link that the far end dials must be answered, or that end gives it up.
    if dialer.inbound != nil { connect() }
  }

  func connectionEnded(_ connection: HTTP2ClientConnection, _ error: BywayError?) {
    lastEnd = eventLoop.now
    lastSeen = lastEnd
    connectionRefusesStreams(connection)
    if let error {
      log.lost(error)
      // Who waits after that is told why there is no link now.
      lastFailure = error
      if let code = configuration.unavailable { lastFailure?.code = code }
      lastFailure?.processing = .none
    } else {
      log.closed()
    }
    // One that took no more streams ends while another lives.
    if case .connected = state { return }
    var failure = error ?? BywayError(.linkLost, "\(dialer.name) was closed.")
    failPings(failure)
    // Some wait where it has ended before it could be used.
    failure.processing = .none
    if case .idle = state { tryAgain(after: failure) }
  }

  func ponged(_ roundTrip: TimeAmount) {
    if !pings.isEmpty { pings.removeFirst().succeed(roundTrip) }
  }

  // MARK: Connecting

  private func connect() {
    guard case .idle = state else { return }
    // A request that comes long after a failure need not wait for that.
    let pause = backoff.pause(fraction: configuration.jitter()) - (eventLoop.now - lastEnd)
    if pause > .zero {
      state = .backingOff
      eventLoop.assumeIsolated().scheduleTask(in: pause) {
        if case .backingOff = self.state { self.dial() }
      }
    } else {
      dial()
    }
  }

  private func dial() {
    state = .connecting
    let deadline = eventLoop.now + timeToConnect
    dialer.dial(on: eventLoop, deadline: deadline).assumeIsolated().whenComplete { result in
      switch result {
      case .success(let channel): self.connected(channel)
      case .failure(let error): self.connectFailed(error)
      }
    }
  }

  /// A first try ends before the patience of those who wait does, so that they can be told its reason. After that a reason is
  /// known, and a link that takes longer to open than anybody waits gets its time.
  private var timeToConnect: TimeAmount {
    guard configuration.patience > .zero, lastFailure == nil else { return configuration.connectTimeout }
    return min(configuration.connectTimeout, .nanoseconds(configuration.patience.nanoseconds / 10 * 9))
  }

  private func connected(_ channel: any Channel) {
    guard case .connecting = state else {
      channel.close(promise: nil)
      return
    }
    // In place before it begins: with what was kept for it, it may end at once.
    let connection = HTTP2ClientConnection(
      on: channel, name: dialer.name, configuration: configuration.http2, rules: rules, delegate: self)
    state = .connected(connection)
    // Until the peer has proved to speak HTTP/2, a lost connection counts as a failed try.
    backoff.fail()
    openedAt = eventLoop.now
    log.opened()
    connection.start()
    guard case .connected(let current) = state, current === connection else { return }
    sendPings(on: connection)
    while case .connected(let current) = state, current === connection, let exchange = waiting.popFirst() {
      put(exchange, on: connection, at: eventLoop.now)
    }
    leaveConnection()
  }

  private func connectFailed(_ error: any Error) {
    guard case .connecting = state else { return }
    state = .idle
    backoff.fail()
    lastEnd = eventLoop.now
    var failure =
      error as? BywayError ?? BywayError(.linkUnavailable, "\(dialer.name) cannot be reached.", cause: error)
    if let code = configuration.unavailable { failure.code = code }
    failure.processing = .none
    lastFailure = failure
    log.unavailable(failure, at: lastEnd)
    failPings(failure)
    tryAgain(after: failure)
  }

  /// For those who still have patience after that.
  private func tryAgain(after failure: BywayError) {
    waiting.tell { $0.connectFailed(failure) }
    if !waiting.isEmpty { connect() }
  }

  // MARK: Pings

  private func sendPings(on connection: HTTP2ClientConnection) {
    if !pings.isEmpty { connection.ping() }
  }

  private func failPings(_ error: BywayError) {
    let failed = pings
    pings = []
    for promise in failed { promise.fail(error) }
  }
}
