import HTTP2Session
import HTTPWire
import NIOCore

/// One exchange on its way over HTTP/2, through as many connections as it takes.
final class HTTP2Exchange: RequestSink, WaitingExchange {
  let arrival: UInt64
  private var request: ReplayableRequest
  private var life: RequestLife
  private let upstream: HTTP2Upstream
  private var sink: (any ResponseSink)?
  private var connection: HTTP2ClientConnection?
  private var id: StreamID = 0

  var head: ExchangeHead { request.head }
  var nextDeadline: NIODeadline? { life.nextDeadline }

  init(
    _ head: ExchangeHead, sink: any ResponseSink, upstream: HTTP2Upstream, arrival: UInt64, budget: RequestLife.Budget
  ) {
    request = ReplayableRequest(head)
    life = RequestLife(budget, at: upstream.eventLoop.now)
    self.sink = sink
    self.upstream = upstream
    self.arrival = arrival
  }

  /// Puts the request, as far as it has come, on a stream of its own.
  func opened(_ id: StreamID, on connection: HTTP2ClientConnection) {
    self.connection = connection
    self.id = id
    // Who has no patience leaves it to the link's own timers how long it may be in coming up.
    let provingTakes = life.budget.isPatient ? connection.provingTakes : nil
    handle(.sent(isWhole: request.body.isComplete, provingTakes: provingTakes))
    connection.watch(nextDeadline)
    for chunk in request.beginAttempt() { connection.write(id, chunk) }
    if request.body.isComplete, !head.isComplete { connection.finish(id, trailers: request.body.trailers) }
  }

  // MARK: RequestSink

  func write(_ bytes: ByteBuffer) {
    guard sink != nil else { return }
    request.append(bytes, isSent: connection != nil)
    connection?.write(id, bytes)
  }

  func finish(trailers: FieldSection?) {
    guard sink != nil else { return }
    request.finish(trailers: trailers)
    handle(.whole)
    connection?.watch(nextDeadline)
    connection?.finish(id, trailers: trailers)
  }

  func cancel(_ reason: BywayError) {
    handle(.cancelled)
  }

  func didConsumeResponse(_ bytes: Int) {
    connection?.consume(id, bytes)
  }

  // MARK: From the upstream

  func wait() {
    handle(.wait(.connection))
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

  // MARK: From the connection

  func connectionProved() {
    handle(.proved)
  }

  func informational(_ fields: FieldSection) {
    sink?.informational(upstream.rules.cleaned(fields))
  }

  func responseBegan(_ fields: consuming FieldSection, isComplete: Bool) {
    handle(.responseBegan)
    request.responseBegan()
    if let rejection = upstream.rules.admit(&fields) {
      let sink = sink
      cancel(rejection)
      sink?.fail(rejection)
      return
    }
    sink?.head(fields, isComplete: isComplete)
    if isComplete { ended() }
  }

  func responseBody(_ bytes: ByteBuffer, isLast: Bool) {
    if bytes.readableBytes > 0 { sink?.write(bytes) }
    if isLast { responseEnded(trailers: nil) }
  }

  func responseEnded(trailers: FieldSection?) {
    sink?.finish(trailers: trailers.map(upstream.rules.cleaned))
    ended()
  }

  func requestDrained(_ bytes: Int) {
    let fresh = request.pass(bytes)
    if fresh > 0 { sink?.didConsumeRequest(fresh) }
  }

  func closed(_ code: HTTP2ErrorCode, isUnprocessed: Bool) {
    lost(
      BywayError(
        isUnprocessed ? .refused : life.state == .answered ? .incompleteResponse : .originLost,
        "\(upstream.dialer.name) ended the request (\(code)).", processing: isUnprocessed ? .none : .possible))
  }

  /// The stream is gone, and the request with it.
  func lost(_ error: BywayError) {
    connection = nil
    handle(.attemptFailed(error, isRepeatable: RetryRules.permit(error, request: head.fields)))
  }

  /// The response is whole. What is left of the request has no reader (RFC 9113 §8.1).
  private func ended() {
    let connection = connection.take()
    handle(.responseEnded)
    if !request.body.isComplete { connection?.reset(id, .noError) }
  }

  // MARK: The life of the request

  private func handle(_ event: RequestLife.Event) {
    switch life.handle(event, at: upstream.eventLoop.now) {
    case .nothing:
      break
    case .repeat(let error):
      if hasWholeBody() { upstream.start(self) } else { handle(.turnedAway(error)) }
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
    connection.take()?.reset(id, .cancel)
  }

  /// The sender begins again where not everything was kept.
  private func hasWholeBody() -> Bool {
    if request.body.isWhole { return true }
    guard let sink, sink.replayRequest() else { return false }
    request.restartBody()
    return true
  }
}
