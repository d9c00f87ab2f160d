import BywayHTTP1Session
import BywayHTTPWire
import NIOCore

/// The requesting end of an HTTP/1.1 connection, with at most one exchange on it.
///
/// Lives on its channel's event loop.
final class HTTP1ClientConnection {
  /// The owner of the connection. Called on the event loop.
  protocol Delegate: AnyObject {
    /// It can take a request: its first, or another one.
    func connectionBecameIdle(_ connection: HTTP1ClientConnection)
    func connectionEnded(_ connection: HTTP1ClientConnection, _ error: BywayError, _ end: End)
    /// The line underneath is gone, and the connection waits for it.
    func connectionInterrupted(_ connection: HTTP1ClientConnection)
  }

  struct Configuration {
    /// The name of the server in messages, and the option that sets the time for its response.
    var name: String
    var responseOption: String?
    var session: HTTP1ClientSession.Configuration
    /// Whether a request that is lost before its response can take another link.
    var hasOtherLinks = false
    /// The read-ahead of exchanges without their own, which are those that an interceptor created.
    var readAhead: ReadAhead
  }

  /// The stage at which it ended.
  enum End {
    /// It has never become idle.
    case opening
    case idle
    case exchange
  }

  /// The use of the connection so far.
  private enum Use {
    /// The delegate does not know of it yet.
    case none
    /// It waits for its first exchange.
    case fresh
    /// It has served an exchange, or has been idle for a while, so its peer may close it at any moment.
    case kept
  }

  let session: HTTP1ClientSession
  let driver: ConnectionDriver
  /// The index of its link among those of the upstream.
  let link: Int
  private let configuration: Configuration
  /// Held until the connection has ended.
  private var delegate: (any Delegate)?
  private var exchange: UpstreamExchange?
  private var id: StreamID = 0
  /// The upgrade that the exchange asks for, if any.
  private var upgrade: AskedUpgrade?
  private var use = Use.none
  private(set) var isStarted = false

  /// Creates a connection that does not read, nor report its end, before ``start()``.
  init(_ channel: any Channel, _ link: Int, _ configuration: Configuration, _ delegate: any Delegate) {
    self.link = link
    session = HTTP1ClientSession(configuration: configuration.session, at: channel.eventLoop.now)
    driver = ConnectionDriver(session, on: channel)
    self.configuration = configuration
    self.delegate = delegate
  }

  /// Starts it. The delegate is notified when it can be used, and when it ends: possibly at once, with bytes that the channel has kept.
  func start() {
    isStarted = true
    driver.start(for: self)
    if hasRoom { becomeIdle() }
  }

  // MARK: For its delegate

  /// The name of the server in messages.
  var name: String { configuration.name }

  /// Whether it can take another exchange, as far as this end knows.
  var hasRoom: Bool { session.isReusable && !driver.isClosing }

  /// The interruption of the link's line, which it waits for.
  var interruption: LineInterruption? { driver.interruption }

  var isKept: Bool {
    if case .kept = use { true } else { false }
  }

  func keep() {
    use = .kept
  }

  var isInterrupted: Bool { interruption != nil }

  var closed: EventLoopFuture<Void> { driver.channel.closeFuture }

  /// Closes at once: the pool drains an HTTP/1.1 connection only when it carries no exchange.
  func drain() {
    driver.abort()
  }

  /// Does nothing: HTTP/1.1 has no PING.
  func ping() {}

  func leaveUpstream() {
    delegate = nil
  }

  /// Ends at once, and fails its exchange with that error.
  func abort(_ error: BywayError) {
    driver.abort(error)
  }

  /// Begins an exchange.
  /// - Throws: if its request cannot be written; the connection can still be used.
  func begin(_ exchange: UpstreamExchange, at now: NIODeadline) throws(HTTP1Failure) {
    if exchange.head.kind.asksForUpgrade {
      var fields = exchange.head.fields
      upgrade = AskedUpgrade(&fields)
      try begin(exchange.head, fields, at: now)
    } else {
      upgrade = nil
      try begin(exchange.head, exchange.head.fields, at: now)
    }
    self.exchange = exchange
    id &+= 1
    exchange.opened(id, on: self, provingTakes: interruption != nil ? .zero : nil, at: now)
    if exchange.head.isComplete { driver.transmit(at: now) } else { driver.scheduleTransmit() }
  }

  private func begin(_ head: ExchangeHead, _ fields: FieldSection, at now: NIODeadline) throws(HTTP1Failure) {
    try session.begin(
      fields, isComplete: head.isComplete, readAhead: head.readAhead ?? configuration.readAhead, at: now)
  }

  private func becomeIdle() {
    if case .none = use { use = .fresh }
    driver.resumeReading()
    delegate?.connectionBecameIdle(self)
  }
}

extension HTTP1ClientConnection: UpstreamConnection {
  static var isMultiplexed: Bool { false }
}

extension HTTP1ClientConnection: ClientConnection {
  private func isCurrent(_ id: StreamID) -> Bool { exchange != nil && id == self.id }

  func write(_ id: StreamID, _ bytes: ByteBuffer) {
    guard isCurrent(id) else { return }
    session.write(bytes, at: driver.eventLoop.now)
    driver.scheduleTransmit()
  }

  func finish(_ id: StreamID, trailers: FieldSection?) {
    guard isCurrent(id) else { return }
    session.finish(trailers: trailers, at: driver.eventLoop.now)
    driver.scheduleTransmit()
  }

  func consume(_ id: StreamID, _ bytes: Int) {
    guard isCurrent(id) else { return }
    session.consume(bytes)
    driver.resumeReading()
  }

  func cancel(_ id: StreamID) {
    guard isCurrent(id) else { return }
    exchange = nil
    session.cancel()
    driver.abort()
  }

  /// Does nothing: half a request cannot be taken back, so the session ends the connection.
  func stopSending(_ id: StreamID) {}

  func watch(_ deadline: NIODeadline?) {
    driver.watch(deadline)
  }
}

extension HTTP1ClientConnection: ConnectionOwner {
  func deliver() {
    while !driver.isEnded, let event = session.nextEvent() { handle(event) }
  }

  private func handle(_ event: consuming HTTP1ClientEvent) {
    switch consume event {
    case .informational(let fields):
      exchange?.informational(fields)
    case .head(let fields, let isComplete):
      responseBegan(fields, isComplete: isComplete)
    case .upgraded(let head):
      upgraded(head)
    case .data(let bytes):
      exchange?.responseBody(bytes)
    case .end(let trailers):
      release()?.responseEnded(trailers: trailers)
    case .drained(let bytes):
      exchange?.requestDrained(bytes)
    case .failed(let failure):
      driver.fail(explain(failure))
    }
  }

  /// - Parameter fields: the head. It has no other owner, so that it can be changed in place.
  private func responseBegan(_ fields: consuming FieldSection, isComplete: Bool) {
    upgrade?.markRefusal(&fields)
    let exchange = isComplete ? release() : exchange
    exchange?.responseBegan(fields, isComplete: isComplete)
  }

  /// Releases the connection after a complete response: it may serve the next exchange before this one is notified.
  private func release() -> UpstreamExchange? {
    let exchange = exchange.take()
    if hasRoom {
      use = .kept
      becomeIdle()
    }
    return exchange
  }

  private func upgraded(_ head: ResponseHead) {
    guard let exchange else { return }
    var fields = head.fields
    guard upgrade?.verify(head, &fields) ?? true else {
      driver.fail(
        BywayError(.protocolViolation, "\(configuration.name) confirmed an upgrade that was not asked for."))
      return
    }
    driver.scheduleTransmit()
    exchange.responseBegan(fields, isComplete: false)
  }

  func inputEnded(isClosed: Bool) {
    guard !driver.hasFailed else { return }
    session.receiveEnd(at: driver.eventLoop.now)
  }

  func linkInterrupted() {
    if let exchange, let since = interruption?.since {
      exchange.linkInterrupted(since: since)
      watch(exchange.nextDeadline)
    }
    delegate?.connectionInterrupted(self)
  }

  func linkResumed() {
    exchange?.connectionProved()
    watch(exchange?.nextDeadline)
  }

  /// The exchange may wait for a later time by now, or for none.
  func timePassed() {
    exchange?.timePassed()
    watch(exchange?.nextDeadline)
  }

  func explain(_ error: any Error, hasBegun: Bool) -> BywayError {
    let name = configuration.name
    if hasBegun {
      return error as? BywayError ?? BywayError(.originLost, "The connection to \(name) failed.", cause: error)
    }
    return BywayError(.originLost, "\(name) closed the connection at once.", cause: error)
  }

  private func explain(_ failure: HTTP1ClientFailure) -> BywayError {
    let name = configuration.name
    switch failure {
    case .response(let failure):
      let code: BywayError.Code =
        switch failure.code {
        case .incomplete(.beforeHead): .originLost
        // It is not the expected server, which another link may reach.
        case .notHTTP where configuration.hasOtherLinks: .originLost
        case .incomplete: .incompleteResponse
        default: .protocolViolation
        }
      var error = BywayError(code, "\(name): \(failure.message)")
      if failure.code == .notHTTP { error.evidence = UnexpectedBytes(heard: failure.heard) }
      return error
    case .request(let failure):
      return BywayError(.invalidRequest, failure.message)
    case .stalled:
      return .noResponse(from: name, within: configuration.session.stallTimeout, configuration.responseOption)
    case .paused:
      return BywayError(.incompleteResponse, "\(name) paused for too long in the middle of a response.")
    case .notUpgraded(let status):
      return BywayError(
        .protocolViolation, "\(name) answered \(status) without an upgrade: it speaks no other protocol at this URL.")
    }
  }

  func connectionEnded(_ error: BywayError?) {
    let error = error ?? BywayError(.originLost, "\(configuration.name) closed the connection.")
    let exchange = exchange.take()
    let end: End = if case .none = use { .opening } else { exchange == nil ? .idle : .exchange }
    delegate.take()?.connectionEnded(self, error, end)
    exchange?.lost(mayBeRepeated: isKept || configuration.hasOtherLinks) { _ in error }
  }
}
