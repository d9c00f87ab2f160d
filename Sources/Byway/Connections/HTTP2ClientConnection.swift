import BywayHTTP2Session
import BywayHTTPWire
import BywayLineLayer
package import NIOCore

/// The requesting end of an HTTP/2 connection: a stream for each exchange given to it.
///
/// Lives on its channel's event loop.
package final class HTTP2ClientConnection: HTTP2StreamWriter {
  /// The owner of the connection. Called on the event loop.
  protocol Delegate: AnyObject {
    /// The peer has sent its settings: it speaks HTTP/2.
    func connectionProved(_ connection: HTTP2ClientConnection)
    /// No further exchange can begin on it.
    func connectionRefusesStreams(_ connection: HTTP2ClientConnection)
    /// It accepts exchanges, but has refused several in a row.
    func connectionRefusesAll(_ connection: HTTP2ClientConnection)
    /// A stream has closed: another exchange may begin.
    func connectionHasRoom(_ connection: HTTP2ClientConnection)
    /// - Parameter error: `nil` if it ended normally, without losses.
    func connectionEnded(_ connection: HTTP2ClientConnection, _ error: BywayError?)
    /// The line underneath is gone, and the connection waits for it.
    func connectionInterrupted(_ connection: HTTP2ClientConnection)
    /// Its remote end was heard again.
    func connectionResumed(_ connection: HTTP2ClientConnection)
    func ponged(_ connection: HTTP2ClientConnection, _ roundTrip: TimeAmount)
  }

  private enum Service {
    /// It takes exchanges.
    case open
    /// It takes no more, and closes when the running ones have ended.
    /// - Parameter reason: the reason for the peer's log.
    /// - Parameter refusal: the error if the peer refuses requests although its HTTP/2 works.
    case draining(reason: String, refusal: BywayError?)
  }

  let driver: ConnectionDriver
  let session: HTTP2Session
  /// The name of the server in messages.
  let name: String
  /// The index of its link among those of the upstream.
  let link: Int
  private let rules: UpstreamRules
  /// Held until the connection has ended.
  private var delegate: (any Delegate)?
  private(set) var isStarted = false
  /// Succeeds when the channel has closed.
  package let closed: EventLoopFuture<Void>
  private var exchanges = StreamTable<UpstreamExchange>()
  var isIdle: Bool { exchanges.isEmpty }
  private var service = Service.open
  /// Whether the peer's SETTINGS have arrived.
  private(set) var isProved = false
  /// Assumed until the peer's settings have arrived.
  private(set) var knowsExtendedConnect = true
  private var record = ServiceRecord()
  /// Frames on their way through a line, in the order of sending.
  private var departures = CircularBuffer<(id: StreamID, departure: Departure)>()

  private lazy var time = EarliestDeadline(on: driver.eventLoop) { [unowned self] in
    timePassed(for: exchanges.values)
  }

  /// Creates a connection that neither reads nor writes, nor reports its end, before ``start()``.
  /// - Parameter watchesLine: whether a silent line is given up like any other link, because there is another link.
  init(
    on channel: any Channel, name: String, link: Int = 0, configuration: HTTP2Configuration, watchesLine: Bool = false,
    rules: UpstreamRules
  ) {
    var configuration = configuration.over(channel, watchesLine: watchesLine)
    configuration.windows.initial = ReadAhead.share
    session = HTTP2Session(role: .client, configuration: configuration, at: channel.eventLoop.now)
    driver = ConnectionDriver(session, on: channel)
    closed = channel.closeFuture
    self.name = name
    self.link = link
    self.rules = rules
  }

  /// Reports to another owner from now on.
  func handOver(to delegate: any Delegate) {
    self.delegate = delegate
  }

  /// Reports to no owner from now on.
  func leaveUpstream() {
    delegate = nil
  }

  /// Starts with bytes that the channel has kept: the connection may have ended when this returns.
  func start() {
    isStarted = true
    driver.start(for: self)
  }

  // MARK: For its delegate

  /// Begins an exchange.
  /// - Throws: if no more streams can be opened; nothing of the request was sent.
  func begin(_ exchange: UpstreamExchange, at now: NIODeadline) throws(HTTP2Failure) {
    let head = exchange.head
    let id = try session.submitRequest(
      rules.prepared(head.fields), endStream: head.isComplete, readAhead: head.readAhead)
    exchanges[id] = exchange
    exchange.opened(id, on: self, provingTakes: provingTakes, at: now)
    driver.scheduleTransmit()
  }

  func ping() {
    session.ping()
    driver.scheduleTransmit()
  }

  var lineStatistics: LineStatistics? { driver.lineStatistics }

  /// The interruption of the link's line, which it waits for.
  var interruption: LineInterruption? { driver.interruption }

  var isInterrupted: Bool { interruption != nil }

  /// Why it is about to end.
  var failure: BywayError? { session.failure.map(explain) ?? refusal }

  /// The title that the remote end has given itself, if it was asked.
  package var title: String?

  /// The number of exchanges on it.
  var load: Int { exchanges.count }

  /// The exchanges on it, the oldest first.
  var running: [UpstreamExchange] { exchanges.values }

  /// The maximum number of streams that the peer allows.
  var streamLimit: Int { session.streamLimit }

  /// Whether an exchange can begin on it now.
  var hasRoom: Bool { session.hasRoom }

  /// Streams that are about to close: their exchanges have left.
  var closingStreams: Int { session.openStreams - exchanges.count }

  /// Whether its last requests failed immediately, so that others are preferred at the moment.
  func rests(at now: NIODeadline) -> Bool { record.rests(at: now) }

  /// The least time in which the peer's first bytes can arrive; `nil`: they have arrived, it speaks HTTP/2, and no interruption is known.
  private var provingTakes: TimeAmount? {
    isProved ? interruption != nil ? .zero : nil : timeToProve
  }

  /// The time for a line's handshake and both ends' SETTINGS. On other links it is negligible.
  var timeToProve: TimeAmount { lineStatistics?.time(for: 512) ?? .zero }

  /// Takes no more exchanges; closes when the running ones have ended.
  package func drain() {
    stopTaking()
    closeIfDrained()
  }

  /// Takes no exchanges, and tells the remote end why.
  package func drain(telling reason: String) {
    stopTaking(reason: reason)
    closeIfDrained()
  }

  /// Takes no more exchanges, because the remote end refuses them.
  func drainRefusing() {
    stopTaking(refusal: refusesRequests)
    delegate?.connectionRefusesStreams(self)
    closeIfDrained()
  }

  /// Keeps what an earlier call has said, unless this one says something else.
  private func stopTaking(reason: String = "", refusal: BywayError? = nil) {
    switch service {
    case .open: service = .draining(reason: reason, refusal: refusal)
    case .draining(let earlier, let known):
      service = .draining(reason: reason.isEmpty ? earlier : reason, refusal: refusal ?? known)
    }
  }

  private var isDraining: Bool {
    if case .draining = service { true } else { false }
  }

  private var refusal: BywayError? {
    if case .draining(_, let refusal) = service { refusal } else { nil }
  }

  private var refusesRequests: BywayError { BywayError(.linkLost, "\(name) refuses requests.", processing: .none) }

  /// Ends at once, and fails its exchanges with that error.
  func abort(_ error: BywayError) {
    driver.abort(error)
  }

  private func closeIfDrained() {
    guard case .draining(let reason, _) = service, exchanges.isEmpty else { return }
    session.goAway(.noError, because: reason)
    driver.close()
  }
}

extension HTTP2ClientConnection: UpstreamConnection {
  static var isMultiplexed: Bool { true }
}

extension HTTP2ClientConnection: ClientConnection {
  func cancel(_ id: StreamID) {
    reset(id, .cancel)
  }

  func stopSending(_ id: StreamID) {
    reset(id, .noError)
  }

  private func reset(_ id: StreamID, _ code: HTTP2ErrorCode) {
    exchanges[id] = nil
    session.reset(id, code)
    driver.scheduleTransmit()
    closeIfDrained()
  }

  func watch(_ deadline: NIODeadline?) {
    if deadline != .distantFuture { time.note(deadline) }
  }

  private func timePassed(for exchanges: [UpstreamExchange]) {
    for exchange in exchanges { exchange.timePassed() }
    for exchange in self.exchanges.values { watch(exchange.nextDeadline) }
  }
}

extension HTTP2ClientConnection: ConnectionOwner {
  func deliver() {
    while !driver.isEnded, let event = session.nextEvent() { handle(event) }
  }

  private func handle(_ event: consuming HTTP2Event) {
    switch consume event {
    case .head(let id, let fields, let endStream):
      record.answered(fields.status, at: driver.eventLoop.now)
      if let began = driver.arrivalBegan { exchanges[id]?.replied(at: began) }
      exchanges[id]?.responseBegan(fields, isComplete: endStream)
    case .informational(let id, let fields):
      exchanges[id]?.informational(fields)
    case .data(let id, let bytes, let endStream):
      received(bytes, isLast: endStream, on: id)
    case .trailers(let id, let fields):
      exchanges[id]?.responseEnded(trailers: fields)
    case .drained(let id, let bytes):
      exchanges[id]?.requestDrained(bytes)
    case .departed(let id, let departure):
      departures.append((id, departure))
      driver.follow(departure.bytes)
    case .violated(let id, let failure):
      let error = explain(failure)
      exchanges.remove(id)?.lost(mayBeRepeated: false) { _ in error }
    case .closed(let id, let code, let isUnprocessed):
      closed(id, code, isUnprocessed: isUnprocessed)
      closeIfDrained()
      delegate?.connectionHasRoom(self)
    case .goAway(let last, _, _):
      // The remote end may send GOAWAY at any time (RFC 9113 §6.8). One that does so before its first answer takes no requests.
      let isRefusal = !record.hasAnswered && !exchanges.isEmpty && exchanges.ids.allSatisfy { $0 > last }
      stopTaking(refusal: isRefusal ? refusesRequests : nil)
      delegate?.connectionRefusesStreams(self)
      closeIfDrained()
    case .settingsReceived(_, let allowsExtendedConnect):
      knowsExtendedConnect = allowsExtendedConnect
      proved()
    case .pong(let roundTrip):
      delegate?.ponged(self, roundTrip)
    case .failed(let failure):
      driver.note(explain(failure))
      delegate?.connectionRefusesStreams(self)
      driver.scheduleTransmit()
    }
  }

  private func proved() {
    isProved = true
    withdrawExcess()
    delegate?.connectionProved(self)
    tellProved()
  }

  /// Takes back unsent requests for which a late or lowered limit leaves no stream.
  private func withdrawExcess() {
    let withdrawn = session.withdrawExcess().reversed().compactMap { exchanges.remove($0) }
    for exchange in withdrawn { exchange.withdrawn() }
  }

  func linkInterrupted() {
    if isProved, let since = interruption?.since {
      for exchange in exchanges.values {
        exchange.linkInterrupted(since: since)
        watch(exchange.nextDeadline)
      }
    }
    delegate?.connectionInterrupted(self)
  }

  func linkResumed() {
    if isProved { tellProved() }
    delegate?.connectionResumed(self)
  }

  func linkPassed(_ passage: Passage) {
    // Some were not followed, where there were too many.
    while let first = departures.first, first.departure.bytes.lowerBound <= passage.bytes.lowerBound {
      departures.removeFirst()
      guard first.departure.bytes == passage.bytes else { continue }
      exchanges[first.id]?.passed(passage, begins: first.departure.begins, ends: first.departure.ends)
    }
  }

  private func tellProved() {
    for exchange in exchanges.values {
      exchange.connectionProved()
      watch(exchange.nextDeadline)
    }
  }

  func explain(_ failure: HTTP2Failure) -> BywayError {
    BywayError(failure, from: rules.serverKind)
  }

  func connectionEnded(_ error: BywayError?) {
    let running = exchanges.values
    exchanges = StreamTable()
    // A remote end that closes normally lets running exchanges end first.
    let cut = BywayError(.linkLost, "\(name) was closed by the far end before the response ended.")
    delegate.take()?.connectionEnded(self, error ?? (running.contains(where: \.isRunning) ? cut : refusal))
    for exchange in running { exchange.lost { _ in error ?? cut } }
  }

  func inputEnded(isClosed: Bool) {
    session.receiveEnd(at: driver.eventLoop.now)
    // Nothing can be answered any more.
    if !isClosed { driver.close() }
  }

  private func closed(_ id: StreamID, _ code: HTTP2ErrorCode, isUnprocessed: Bool) {
    guard let exchange = exchanges.remove(id) else { return }
    if let failure = session.failure {
      let error = explain(failure)
      exchange.lost { _ in error }
      return
    }
    if exchange.isUnanswered, !isDraining {
      record.failed(isRefusal: isUnprocessed, at: driver.eventLoop.now)
      // Recorded before the exchange looks for another connection.
      if record.refusesAll { delegate?.connectionRefusesAll(self) }
    }
    exchange.lost { hadBegun in
      BywayError(
        isUnprocessed ? .refused : hadBegun ? .incompleteResponse : .originLost,
        "\(name) ended the request (\(code)).", processing: isUnprocessed ? .none : .possible)
    }
  }

  private func received(_ bytes: ByteBuffer, isLast: Bool, on id: StreamID) {
    guard let exchange = exchanges[id] else {
      // The exchange was cancelled here, which the remote end does not know yet.
      session.consume(id, bytes: bytes.readableBytes)
      return
    }
    exchange.responseBody(bytes)
    if isLast { exchange.responseEnded(trailers: nil) }
  }
}
