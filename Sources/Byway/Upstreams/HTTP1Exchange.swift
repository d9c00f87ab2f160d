import HTTP1Session
import HTTPWire
import NIOCore

/// One exchange on its way to an HTTP/1.1 server, through as many connections as it takes.
final class HTTP1Exchange: RequestSink, WaitingExchange {
  let arrival: UInt64
  let kind: RequestKind
  private var request: ReplayableRequest
  private var life: RequestLife
  private let upstream: HTTP1Upstream
  private var sink: (any ResponseSink)?
  private var connection: HTTP1ClientConnection?

  private var wasRepeated = false

  var head: ExchangeHead { request.head }
  /// If it is lost with a kept connection it can be sent again in full. Only once: the other kept connections may have
  /// ended at the same moment.
  var isRepeatable: Bool { !wasRepeated && head.isComplete && RetryRules.isIdempotent(head.fields) }
  var deadline: NIODeadline? { head.deadline }
  var nextDeadline: NIODeadline? { life.nextDeadline }

  init(
    _ head: ExchangeHead, sink: any ResponseSink, upstream: HTTP1Upstream, arrival: UInt64, budget: RequestLife.Budget
  ) {
    request = ReplayableRequest(head)
    life = RequestLife(budget, at: upstream.eventLoop.now)
    self.sink = sink
    self.upstream = upstream
    self.arrival = arrival
    kind = RequestKind(head.fields)
  }

  /// Puts the request, as far as it has come, on a connection that is its own from now on, and that watches its time.
  func send(on connection: HTTP1ClientConnection) {
    self.connection = connection
    handle(.sent(isWhole: request.body.isComplete))
    let body = request.beginAttempt()
    connection.begin(self)
    for chunk in body where self.connection === connection { connection.write(chunk) }
    if request.body.isComplete, self.connection === connection { connection.finish(trailers: request.body.trailers) }
  }

  // MARK: RequestSink

  func write(_ bytes: ByteBuffer) {
    guard sink != nil else { return }
    request.append(bytes, isSent: connection != nil)
    connection?.write(bytes)
  }

  func finish(trailers: FieldSection?) {
    guard sink != nil else { return }
    request.finish(trailers: trailers)
    connection?.finish(trailers: trailers)
  }

  func cancel(_ reason: BywayError) {
    handle(.cancelled)
  }

  func didConsumeResponse(_ bytes: Int) {
    connection?.didConsumeResponse(bytes)
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

  // MARK: From the connection

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
  }

  func responseBody(_ bytes: ByteBuffer) {
    sink?.write(bytes)
  }

  /// The exchange is over; the connection has let go of it.
  func responseEnded(trailers: FieldSection?, wasComplete: Bool) {
    connection = nil
    let sink = sink
    handle(.responseEnded)
    if !wasComplete { sink?.finish(trailers: trailers.map(upstream.rules.cleaned)) }
  }

  func didConsumeRequest(_ bytes: Int) {
    let fresh = request.pass(bytes)
    if fresh > 0 { sink?.didConsumeRequest(fresh) }
  }

  /// The connection has ended.
  /// - Parameter wasKept: it had been open for a while, and its peer may have closed it before the request arrived.
  func fail(_ error: BywayError, wasKept: Bool = false) {
    connection = nil
    let isRepeatable = wasKept && RetryRules.permit(error, request: head.fields)
    handle(.attemptFailed(error, isRepeatable: isRepeatable))
  }

  // MARK: The life of the request

  private func handle(_ event: RequestLife.Event) {
    switch life.handle(event, at: upstream.eventLoop.now) {
    case .nothing:
      break
    case .repeat(let error):
      wasRepeated = true
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
    connection.take()?.abort()
  }

  /// The sender begins again where not everything was kept.
  private func hasWholeBody() -> Bool {
    if request.body.isWhole { return true }
    guard let sink, sink.replayRequest() else { return false }
    request.restartBody()
    return true
  }
}
