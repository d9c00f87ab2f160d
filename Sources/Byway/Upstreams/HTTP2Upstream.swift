package import HTTP2Session
package import LinkLayer
package import Logging
package import NIOCore

/// Sends exchanges over one HTTP/2 connection, which it opens when it is needed and opens again when it was lost.
///
/// Exchanges that find no connection wait, for as long as their patience and their deadline allow. Lives on one event
/// loop.
package final class HTTP2Upstream: ExchangeHandler {
  package struct Configuration: Sendable {
    /// How long an exchange waits for the connection. Zero: the first failure to open it is final.
    package var patience = TimeAmount.seconds(5)
    package var connectTimeout = TimeAmount.seconds(10)
    /// Exchanges that may wait for the connection at once.
    package var maximumWaiting = 1024
    package var farEnd = FarEnd.origin
    package var http2 = HTTP2Configuration.defaults
    /// What to call the failure to connect; `nil`: what the dialer calls it.
    package var unavailable: BywayError.Code? = .linkUnavailable

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
  let configuration: Configuration
  let rules: UpstreamRules
  private let logger: Logger
  private var state = State.idle
  private var waiting = CircularBuffer<HTTP2Exchange>()
  private var backoff = Backoff()
  private var lastFailure: BywayError?
  private var pings: [EventLoopPromise<TimeAmount>] = []
  private lazy var patienceTimer = LazyTimer(on: eventLoop) { [unowned self] in patienceEnded() }

  package init(
    dialer: Dialer, on eventLoop: any EventLoop, hop: String?, configuration: Configuration = .defaults, logger: Logger
  ) {
    self.dialer = dialer
    self.eventLoop = eventLoop
    self.configuration = configuration
    self.logger = logger
    rules = UpstreamRules(farEnd: configuration.farEnd, via: hop.map { "2.0 \($0)" })
  }

  package func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    // Where the far end dials no failure comes by itself that could be the first and final one.
    let isAwaited = dialer.inbound != nil && configuration.patience == .zero
    let patience = isAwaited ? configuration.connectTimeout : configuration.patience
    let exchange = HTTP2Exchange(request, sink: sink, upstream: self, patienceEnd: .now() + patience)
    start(exchange)
    return exchange
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

  package var lineStatistics: LinkStatistics? {
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
    failWaiting(BywayError(.cancelled, "The client was shut down.", processing: .none)) { _ in true }
    return closed
  }

  // MARK: For exchanges

  func start(_ exchange: HTTP2Exchange) {
    switch state {
    case .connected(let connection):
      connection.begin(exchange)
    case .shutDown:
      exchange.fail(BywayError(.cancelled, "The client was shut down.", processing: .none))
    case .idle, .connecting, .backingOff:
      guard waiting.count < configuration.maximumWaiting else {
        exchange.fail(
          BywayError(.refused, "Too many requests wait for \(dialer.name) already.", processing: .none))
        return
      }
      waiting.append(exchange)
      armPatience()
      connect()
    }
  }

  // MARK: From the connection

  /// The peer has sent its settings: it does speak HTTP/2.
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
    connectionRefusesStreams(connection)
    if let error {
      logger.warning("Link lost", metadata: ["link": "\(dialer.name)", "reason": "\(error)"])
      lastFailure = error
    } else {
      logger.info("Link closed", metadata: ["link": "\(dialer.name)"])
    }
    failPings(error ?? BywayError(.linkLost, "\(dialer.name) was closed."))
  }

  func ponged(_ roundTrip: TimeAmount) {
    if !pings.isEmpty { pings.removeFirst().succeed(roundTrip) }
  }

  // MARK: Connecting

  private func connect() {
    guard case .idle = state else { return }
    let pause = backoff.pause(fraction: .random(in: 0...1))
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
    let dialed = dialer.dial(on: eventLoop, deadline: .now() + configuration.connectTimeout)
    dialed.assumeIsolated().whenComplete { result in
      do {
        self.connected(try result.get())
      } catch {
        self.connectFailed(error)
      }
    }
  }

  private func connected(_ channel: any Channel) {
    if case .shutDown = state {
      channel.close(promise: nil)
      return
    }
    let connection: HTTP2ClientConnection
    do {
      connection = try HTTP2ClientConnection.start(on: channel, upstream: self)
    } catch {
      connectFailed(error)
      return
    }
    logger.info("Link open", metadata: ["link": "\(dialer.name)"])
    state = .connected(connection)
    // Until the peer has proved to speak HTTP/2, a lost connection counts as a failed try.
    backoff.fail()
    sendPings(on: connection)
    let ready = waiting
    waiting.removeAll()
    for exchange in ready where !exchange.isEnded { start(exchange) }
  }

  private func connectFailed(_ error: any Error) {
    guard case .connecting = state else { return }
    state = .idle
    backoff.fail()
    var failure =
      error as? BywayError ?? BywayError(.linkUnavailable, "\(dialer.name) cannot be reached.", cause: error)
    if let code = configuration.unavailable { failure.code = code }
    failure.processing = .none
    lastFailure = failure
    logger.warning("Link unavailable", metadata: ["link": "\(dialer.name)", "reason": "\(failure)"])
    failPings(failure)
    let now = NIODeadline.now()
    failWaiting(failure) { $0.patienceEnd <= now }
    armPatience()
    if !waiting.isEmpty { connect() }
  }

  // MARK: Waiting

  private func patienceEnded() {
    // While a try is under way its own deadline decides.
    if case .connecting = state, dialer.inbound == nil { return }
    let now = NIODeadline.now()
    let reason =
      dialer.inbound == nil
      ? "\(dialer.name) did not open in time." : "No gateway has dialled \(dialer.name): start one with ?open=dial."
    let failure = lastFailure ?? BywayError(configuration.unavailable ?? .timedOut, reason, processing: .none)
    failWaiting(failure) { $0.patienceEnd <= now }
    armPatience()
  }

  private func armPatience() {
    patienceTimer.set(waiting.map(\.patienceEnd).min())
  }

  private func failWaiting(_ error: BywayError, where isDue: (HTTP2Exchange) -> Bool) {
    let candidates = waiting
    waiting.removeAll()
    for exchange in candidates where !exchange.isEnded {
      if isDue(exchange) { exchange.fail(error) } else { waiting.append(exchange) }
    }
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
