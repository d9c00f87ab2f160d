import HTTP1Session
import HTTPWire
import NIOCore

/// One exchange on its way to an HTTP/1.1 server, through as many connections as it takes.
final class HTTP1Exchange: RequestSink {
  private var request: ReplayableRequest
  let kind: RequestKind
  private let upstream: HTTP1Upstream
  private var sink: (any ResponseSink)?
  private var connection: HTTP1ClientConnection?
  /// Until when it waits for a connection.
  var waitEnd = NIODeadline.distantFuture

  var isEnded: Bool { sink == nil }
  var head: ExchangeHead { request.head }
  var deadline: NIODeadline? { head.deadline }

  init(_ head: ExchangeHead, sink: any ResponseSink, upstream: HTTP1Upstream) {
    request = ReplayableRequest(head)
    self.sink = sink
    self.upstream = upstream
    kind = RequestKind(head.fields)
  }

  /// Puts the request, as far as it has come, on a connection that is its own from now on.
  func send(on connection: HTTP1ClientConnection) {
    self.connection = connection
    let body = request.beginAttempt()
    connection.begin(self)
    for chunk in body where self.connection === connection { connection.write(chunk) }
    if request.body.isComplete, self.connection === connection { connection.finish(trailers: request.body.trailers) }
  }

  // MARK: RequestSink

  func write(_ bytes: ByteBuffer) {
    guard !isEnded else { return }
    request.append(bytes, isSent: connection != nil)
    connection?.write(bytes)
  }

  func finish(trailers: FieldSection?) {
    guard !isEnded else { return }
    request.finish(trailers: trailers)
    connection?.finish(trailers: trailers)
  }

  func cancel(_ reason: BywayError) {
    sink = nil
    connection.take()?.abort()
  }

  func didConsumeResponse(_ bytes: Int) {
    connection?.didConsumeResponse(bytes)
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
  }

  func responseBody(_ bytes: ByteBuffer) {
    sink?.write(bytes)
  }

  /// The exchange is over; the connection has let go of it.
  func responseEnded(trailers: FieldSection?, wasComplete: Bool) {
    connection = nil
    let sink = sink.take()
    if !wasComplete { sink?.finish(trailers: trailers.map(upstream.rules.cleaned)) }
  }

  func didConsumeRequest(_ bytes: Int) {
    let fresh = request.pass(bytes)
    if fresh > 0 { sink?.didConsumeRequest(fresh) }
  }

  /// - Parameter wasReused: the connection had served before, and may have been closed by its idle peer just then.
  func fail(_ error: BywayError, wasReused: Bool = false) {
    connection = nil
    guard let sink else { return }
    if wasReused, request.mayRepeat(after: error), hasWholeBody(of: sink) {
      upstream.start(self)
    } else {
      self.sink = nil
      sink.fail(error)
    }
  }

  /// The sender begins again where not everything was kept.
  private func hasWholeBody(of sink: any ResponseSink) -> Bool {
    if request.body.isWhole { return true }
    guard sink.replayRequest() else { return false }
    request.restartBody()
    return true
  }
}
