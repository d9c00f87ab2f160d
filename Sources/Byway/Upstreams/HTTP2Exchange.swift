import HTTP2Session
import HTTPWire
import NIOCore

/// One exchange on its way over HTTP/2, through as many connections as it takes.
final class HTTP2Exchange: RequestSink {
  private var request: ReplayableRequest
  /// Until when it waits for a connection.
  let patienceEnd: NIODeadline
  private let upstream: HTTP2Upstream
  private var sink: (any ResponseSink)?
  private var connection: HTTP2ClientConnection?
  private var id: StreamID = 0

  var isEnded: Bool { sink == nil }
  var head: ExchangeHead { request.head }

  init(_ head: ExchangeHead, sink: any ResponseSink, upstream: HTTP2Upstream, patienceEnd: NIODeadline) {
    request = ReplayableRequest(head)
    self.sink = sink
    self.upstream = upstream
    self.patienceEnd = min(patienceEnd, head.deadline ?? .distantFuture)
  }

  /// Puts the request, as far as it has come, on a stream of its own.
  func opened(_ id: StreamID, on connection: HTTP2ClientConnection) {
    self.connection = connection
    self.id = id
    for chunk in request.beginAttempt() { connection.write(id, chunk) }
    if request.body.isComplete, !head.isComplete { connection.finish(id, trailers: request.body.trailers) }
  }

  // MARK: RequestSink

  func write(_ bytes: ByteBuffer) {
    guard !isEnded else { return }
    request.append(bytes, isSent: connection != nil)
    connection?.write(id, bytes)
  }

  func finish(trailers: FieldSection?) {
    guard !isEnded else { return }
    request.finish(trailers: trailers)
    connection?.finish(id, trailers: trailers)
  }

  func cancel(_ reason: BywayError) {
    sink = nil
    connection.take()?.reset(id, .cancel)
  }

  func didConsumeResponse(_ bytes: Int) {
    connection?.consume(id, bytes)
  }

  // MARK: From the connection

  func informational(_ fields: FieldSection) {
    sink?.informational(upstream.rules.cleaned(fields))
  }

  func responseBegan(_ fields: consuming FieldSection, isComplete: Bool) {
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
    fail(
      BywayError(
        isUnprocessed ? .refused : request.hasResponse ? .incompleteResponse : .originLost,
        "\(upstream.dialer.name) ended the request (\(code)).", processing: isUnprocessed ? .none : .possible))
  }

  func fail(_ error: BywayError) {
    connection = nil
    guard let sink else { return }
    if request.mayRepeat(after: error), hasWholeBody(of: sink) {
      upstream.start(self)
    } else {
      self.sink = nil
      sink.fail(error)
    }
  }

  /// The response is whole. What is left of the request has no reader.
  private func ended() {
    sink = nil
    guard let connection = connection.take() else { return }
    if !request.body.isComplete { connection.reset(id, .noError) }
  }

  /// The sender begins again where not everything was kept.
  private func hasWholeBody(of sink: any ResponseSink) -> Bool {
    if request.body.isWhole { return true }
    guard sink.replayRequest() else { return false }
    request.restartBody()
    return true
  }
}
