import HTTPWire
import LineLayer
import NIOCore

/// What has connections for exchanges.
protocol ExchangeUpstream: AnyObject {
  /// What messages call the place that its connections lead to.
  var name: String { get }
  var eventLoop: any EventLoop { get }
  var rules: UpstreamRules { get }
  /// By its rules, of which no copy is made for that.
  func admit(_ response: inout FieldSection, to request: FieldSection, isComplete: Bool) -> BywayError?
  /// Puts an exchange on a connection, or lets it wait for one.
  func start(_ exchange: UpstreamExchange, at now: NIODeadline)
  /// It waits no more.
  func leave(_ exchange: UpstreamExchange)
  /// - Parameter processing: what became of the request until then.
  func explain(_ failure: RequestLife.Failure, processing: BywayError.Processing) -> BywayError
}

/// What an exchange may ask of the connection that carries it, whichever HTTP that speaks. Nothing of this calls the exchange
/// before it returns.
protocol ClientConnection: AnyObject {
  func write(_ id: StreamID, _ bytes: ByteBuffer)
  func finish(_ id: StreamID, trailers: FieldSection?)
  /// That many bytes of the response have been passed on for good.
  func consume(_ id: StreamID, _ bytes: Int)
  /// Nobody waits for the response any more.
  func cancel(_ id: StreamID)
  /// The response is whole; what is left of the request has no reader.
  func stopSending(_ id: StreamID)
  /// The exchange is to be told when that time has come.
  func watch(_ deadline: NIODeadline?)
}

/// One exchange on its way to a server, through as many connections as it takes.
final class UpstreamExchange: RequestSink, WaitingExchange {
  private enum Place {
    /// It waits, or is over.
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

  /// The connection that could not bring it to its end.
  private var lastPlace: ObjectIdentifier?

  var nextDeadline: NIODeadline? { life.nextDeadline }

  var client: ClientKey { ClientKey(of: head) }
  var share: ClientShare?

  /// When a byte last went through, either way, where this is a tunnel that is open.
  private(set) var lastTraffic: NIODeadline?

  /// A connection carries it.
  var isPlaced: Bool {
    if case .on = place { true } else { false }
  }

  /// Neither its response nor anything else has ended it.
  var isRunning: Bool { life.state != .ended }

  /// It is on a connection, and no response has begun.
  var isUnanswered: Bool {
    switch life.state {
    case .onTrust, .sent: true
    case .waiting, .answered, .ended: false
    }
  }

  /// Its last attempt came to nothing there.
  func hasFailed(on connection: some ClientConnection) -> Bool { lastPlace == ObjectIdentifier(connection) }

  /// If it is lost with a kept connection it can be sent again in full. Only once: the other kept connections may have
  /// ended at the same moment.
  var isRepeatable: Bool {
    life.isFirstAttempt && head.isComplete && RetryRules.isIdempotent(head.fields)
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

  /// Puts the request, as far as it has come, on a connection that has taken its head.
  /// - Parameter provingTakes: how long the far end needs at least to say that it is there; `nil`: it is known to be.
  func opened(
    _ id: StreamID, on connection: any ClientConnection, provingTakes: TimeAmount? = nil, at now: NIODeadline
  ) {
    place = .on(connection, id)
    share?.running += 1
    sentAt = now
    head.observed?.sent(head.fields, to: upstream.name, at: now)
    // Who has no patience leaves it to the link's own timers how long it may be in coming up.
    let proof = life.budget.isPatient ? provingTakes : nil
    handle(.sent(isWhole: isAwaited, provingTakes: proof), at: now)
    connection.watch(nextDeadline)
    for chunk in request.beginAttempt() { connection.write(id, chunk) }
    if request.body.isComplete, !head.isComplete { connection.finish(id, trailers: request.body.trailers) }
  }

  /// The answer is the server's next step: to a tunnel, before anything goes through it.
  private var isAwaited: Bool {
    request.body.isComplete || isTunnel
  }

  private var isTunnel: Bool {
    !head.isComplete && head.fields.withValue(of: .method) { $0.elementsEqual("CONNECT".utf8) } ?? false
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

  /// Ends a tunnel whose stream others need more.
  func reclaim(_ error: BywayError) {
    if case .on(let connection, let id) = takePlace() { connection.cancel(id) }
    handle(.attemptFailed(error, isRepeatable: false))
  }

  // MARK: From the connection

  /// Its connection has taken it back before anything of it left.
  func withdrawn() {
    _ = takePlace()
    handle(.withdrawn)
  }

  func connectionProved() {
    handle(.proved)
  }

  /// Doubts the line under a request that was sent after the far end was last heard, as if it were sent now.
  func linkInterrupted(since time: NIODeadline) {
    guard sentAt >= time else { return }
    handle(.doubted(since: sentAt, isWhole: isAwaited))
  }

  /// A piece of the request has passed the line.
  func passed(_ passage: Passage, begins: Bool, ends: Bool) {
    if begins { head.observed?.left(at: .uptimeNanoseconds(passage.began)) }
    if ends { head.observed?.arrived(at: .uptimeNanoseconds(passage.arrived)) }
  }

  /// The far end began to send the response.
  func replied(at time: NIODeadline) {
    head.observed?.replied(at: time)
  }

  func informational(_ fields: FieldSection) {
    sink?.informational(upstream.rules.cleaned(fields, of: head.fields))
  }

  func responseBegan(_ fields: consuming FieldSection, isComplete: Bool) {
    handle(.responseBegan)
    head.observed?.answered(fields)
    request.responseBegan()
    if !isComplete, isTunnel { lastTraffic = upstream.eventLoop.now }
    if let rejection = upstream.admit(&fields, to: head.fields, isComplete: isComplete) {
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
    sink?.finish(trailers: trailers.map { upstream.rules.cleaned($0, of: head.fields) })
    ended()
  }

  private func noteTraffic() {
    if lastTraffic != nil { lastTraffic = upstream.eventLoop.now }
  }

  func requestDrained(_ bytes: Int) {
    let fresh = request.pass(bytes)
    if fresh > 0 { sink?.didConsumeRequest(fresh) }
  }

  /// The connection could not bring it to its end, and has let go of it.
  /// - Parameter error: made from whether the response had begun.
  /// - Parameter mayBeRepeated: as far as the connection can tell.
  func lost(mayBeRepeated: Bool = true, _ error: (_ hadBegun: Bool) -> BywayError) {
    if case .on(let connection, _) = takePlace() { lastPlace = ObjectIdentifier(connection) }
    let error = error(life.state == .answered)
    handle(.attemptFailed(error, isRepeatable: mayBeRepeated && RetryRules.permit(error, request: head.fields)))
  }

  /// The response is whole. What is left of the request has no reader (RFC 9113 §8.1).
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

  private func handle(_ event: RequestLife.Event) {
    handle(event, at: upstream.eventLoop.now)
  }

  private func handle(_ event: RequestLife.Event, at now: @autoclosure () -> NIODeadline) {
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
    upstream.leave(self)
    if case .on(let connection, let id) = takePlace() { connection.cancel(id) }
  }

  /// The sender begins again where not everything was kept.
  private func hasWholeBody() -> Bool {
    if request.body.isWhole { return true }
    guard let sink, sink.replayRequest() else { return false }
    request.restartBody()
    return true
  }
}
