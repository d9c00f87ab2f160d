import BywayHTTPWire
import BywayLineLayer
import NIOCore

/// A pool of connections for exchanges.
protocol ExchangeUpstream: AnyObject {
  /// The name of the target of its connections in messages.
  var name: String { get }
  var eventLoop: any EventLoop { get }
  var rules: UpstreamRules { get }
  /// Applies its rules to a response, without a copy of the rules.
  func admit(_ response: inout FieldSection, to request: ExchangeHead, isComplete: Bool) -> BywayError?
  /// Puts an exchange on a connection, or lets it wait for one.
  func start(_ exchange: UpstreamExchange, at now: NIODeadline)
  /// Removes an exchange from the waiting queue.
  func remove(_ exchange: UpstreamExchange)
  /// - Parameter processing: whether the request may have been processed.
  func explain(_ failure: RequestLife.Failure, processing: BywayError.Processing) -> BywayError
}

/// The operations of a connection for the exchange that it carries, for either HTTP version. None of them calls the exchange before it
/// returns.
protocol ClientConnection: AnyObject {
  func write(_ id: StreamID, _ bytes: ByteBuffer)
  func finish(_ id: StreamID, trailers: FieldSection?)
  /// Acknowledges bytes of the response that were passed on.
  func consume(_ id: StreamID, _ bytes: Int)
  /// Cancels the response.
  func cancel(_ id: StreamID)
  /// Stops sending the request: the response is complete, and the rest of the request has no reader.
  func stopSending(_ id: StreamID)
  /// Notifies the exchange when that time has come.
  func watch(_ deadline: NIODeadline?)
}

/// An exchange on its way to a server, over as many connections as it needs.
final class UpstreamExchange: RequestSink, WaitingExchange {
  private enum Place {
    /// It waits, or has ended.
    case none
    case on(any ClientConnection, StreamID)
  }

  let head: ExchangeHead
  let arrival: UInt64
  private var request: ReplayableRequest
  private var life: RequestLife
  private let upstream: any ExchangeUpstream
  private var sink: (any ResponseSink)?
  private var place = Place.none
  /// The time of the latest attempt.
  private var sentAt = NIODeadline.uptimeNanoseconds(0)

  /// The connection that could not complete it.
  private var lastPlace: ObjectIdentifier?

  var nextDeadline: NIODeadline? { life.nextDeadline }

  var client: ClientKey { ClientKey(of: head) }
  var share: ClientShare?

  /// When bytes last passed in either direction, if this is an open tunnel.
  private(set) var lastTraffic: NIODeadline?

  /// Whether a connection carries it.
  var isPlaced: Bool {
    if case .on = place { true } else { false }
  }

  /// Whether it has not ended.
  var isRunning: Bool { life.state != .ended }

  /// Whether it is on a connection, and no response has begun.
  var isUnanswered: Bool {
    switch life.state {
    case .onTrust, .sent: true
    case .waiting, .answered, .ended: false
    }
  }

  /// Whether its last attempt failed on that connection.
  func hasFailed(on connection: AnyObject) -> Bool { lastPlace == ObjectIdentifier(connection) }

  /// Whether it can be sent again in full if it is lost with a kept-alive connection. True only once: the other kept-alive connections may
  /// have ended at the same moment.
  var isRepeatable: Bool {
    life.isFirstAttempt && head.isComplete && RetryRules.isIdempotent(head.fields, life.budget.repetition)
  }

  init(
    _ head: consuming ExchangeHead, sink: any ResponseSink, upstream: any ExchangeUpstream, arrival: UInt64,
    budget: RequestLife.Budget, at now: NIODeadline
  ) {
    request = ReplayableRequest(isComplete: head.isComplete)
    self.head = head
    life = RequestLife(budget, at: now)
    self.sink = sink
    self.upstream = upstream
    self.arrival = arrival
  }

  /// Sends the part of the request that has arrived on a connection that has taken its head.
  /// - Parameter provingTakes: the least time in which the remote end can prove itself; `nil`: it is proved.
  func opened(
    _ id: StreamID, on connection: any ClientConnection, provingTakes: TimeAmount? = nil, at now: NIODeadline
  ) {
    place = .on(connection, id)
    share?.running += 1
    sentAt = now
    head.observed?.sent(head.fields, to: upstream.name, at: now)
    // Without patience, only the link's own timers limit how long it may take to come up.
    let proof = life.budget.isPatient ? provingTakes : nil
    handle(.sent(isWhole: isAwaited, provingTakes: proof), at: now)
    connection.watch(nextDeadline)
    let (chunks, trailers) = request.beginAttempt()
    for chunk in chunks { connection.write(id, chunk) }
    if request.body.isComplete, !head.isComplete { connection.finish(id, trailers: trailers) }
  }

  /// Whether the response is the next step. A tunnel needs its response before it carries anything.
  private var isAwaited: Bool {
    request.body.isComplete || isTunnel
  }

  private var isTunnel: Bool {
    !head.isComplete && head.kind.asksForTunnel
  }

  // MARK: RequestSink

  func write(_ bytes: ByteBuffer) {
    guard sink != nil else { return }
    switch place {
    case .none: request.append(bytes, isSent: false)
    case .on(let connection, let id):
      noteTraffic()
      request.append(bytes, isSent: true)
      connection.write(id, bytes)
    }
  }

  func finish(trailers: FieldSection?) {
    guard sink != nil else { return }
    request.finish(trailers: trailers)
    handle(.whole)
    if case .on(let connection, let id) = place {
      connection.watch(nextDeadline)
      connection.finish(id, trailers: trailers)
    }
  }

  func cancel(_ reason: BywayError) {
    handle(.cancelled)
  }

  func didConsumeResponse(_ bytes: Int) {
    if case .on(let connection, let id) = place { connection.consume(id, bytes) }
  }

  // MARK: From the upstream

  func wait(for want: RequestLife.Want) {
    handle(.wait(want))
  }

  func connectFailed(_ error: BywayError) {
    handle(.connectFailed(error))
  }

  func turnedAway(_ error: BywayError) {
    handle(.turnedAway(error))
  }

  func timePassed() {
    handle(.time)
  }

  /// Ends a tunnel whose stream is needed by other clients.
  func reclaim(_ error: BywayError) {
    if case .on(let connection, let id) = takePlace() { connection.cancel(id) }
    handle(.attemptFailed(error, isRepeatable: false))
  }

  // MARK: From the connection

  /// The connection has returned it before any of it was sent.
  func withdrawn() {
    _ = takePlace()
    handle(.withdrawn)
  }

  func connectionProved() {
    handle(.proved)
  }

  /// Treats the line as doubtful for a request that was sent after the remote end was last heard, as if it were sent now.
  func linkInterrupted(since time: NIODeadline) {
    guard sentAt >= time else { return }
    handle(.doubted(since: sentAt, isWhole: isAwaited))
  }

  /// A part of the request has passed the line.
  func passed(_ passage: Passage, begins: Bool, ends: Bool) {
    if begins { head.observed?.left(at: .uptimeNanoseconds(passage.began)) }
    if ends { head.observed?.arrived(at: .uptimeNanoseconds(passage.arrived)) }
  }

  /// The remote end began to send the response.
  func replied(at time: NIODeadline) {
    head.observed?.replied(at: time)
  }

  func informational(_ fields: FieldSection) {
    sink?.informational(upstream.rules.cleaned(fields, of: head))
  }

  func responseBegan(_ fields: consuming FieldSection, isComplete: Bool) {
    handle(.responseBegan)
    head.observed?.answered(fields)
    request.responseBegan()
    if !isComplete, isTunnel { lastTraffic = upstream.eventLoop.now }
    if let rejection = upstream.admit(&fields, to: head, isComplete: isComplete) {
      let sink = sink
      cancel(rejection)
      sink?.fail(rejection)
      return
    }
    sink?.head(fields, isComplete: isComplete)
    if isComplete { ended() }
  }

  func responseBody(_ bytes: ByteBuffer) {
    guard bytes.readableBytes > 0 else { return }
    head.observed?.carried(bytes.readableBytes)
    noteTraffic()
    sink?.write(bytes)
  }

  func responseEnded(trailers: FieldSection?) {
    sink?.finish(trailers: trailers.map { upstream.rules.cleaned($0, of: head) })
    ended()
  }

  private func noteTraffic() {
    if lastTraffic != nil { lastTraffic = upstream.eventLoop.now }
  }

  func requestDrained(_ bytes: Int) {
    let fresh = request.pass(bytes)
    if fresh > 0 { sink?.didConsumeRequest(fresh) }
  }

  /// The connection could not complete it, and has released it.
  /// - Parameter error: makes the error, given whether the response had begun.
  /// - Parameter mayBeRepeated: whether the connection permits another attempt.
  func lost(mayBeRepeated: Bool = true, _ error: (_ hadBegun: Bool) -> BywayError) {
    if case .on(let connection, _) = takePlace() { lastPlace = ObjectIdentifier(connection) }
    // A stream also ends after each complete response, which needs no error.
    guard isRunning else { return }
    let error = error(life.state == .answered)
    let isPermitted = RetryRules.permit(error, request: head.fields, life.budget.repetition)
    handle(.attemptFailed(error, isRepeatable: mayBeRepeated && isPermitted))
  }

  /// Ends a complete response. The rest of the request has no reader (RFC 9113 §8.1).
  private func ended() {
    let place = takePlace()
    handle(.responseEnded)
    if case .on(let connection, let id) = place, !request.body.isComplete { connection.stopSending(id) }
  }

  private func takePlace() -> Place {
    if case .on = place { share?.running -= 1 }
    defer { place = .none }
    return place
  }

  // MARK: The life of the request

  private func handle(_ event: consuming RequestLife.Event) {
    handle(event, at: upstream.eventLoop.now)
  }

  private func handle(_ event: consuming RequestLife.Event, at now: @autoclosure () -> NIODeadline) {
    switch life.handle(event, at: now()) {
    case .nothing:
      break
    case .repeat(let error):
      if hasWholeBody() { upstream.start(self, at: now()) } else { handle(.turnedAway(error)) }
    case .release:
      end()
    case .fail(let failure):
      let error = upstream.explain(failure, processing: life.processing)
      let sink = sink
      end()
      sink?.fail(error)
    }
  }

  private func end() {
    sink = nil
    upstream.remove(self)
    if case .on(let connection, let id) = takePlace() { connection.cancel(id) }
  }

  /// Whether the whole body can be sent again: the sender starts over if not everything was kept.
  private func hasWholeBody() -> Bool {
    if request.body.isWhole { return true }
    guard let sink, sink.replayRequest() else { return false }
    request.restartBody()
    return true
  }
}
