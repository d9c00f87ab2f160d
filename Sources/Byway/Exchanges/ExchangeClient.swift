import BywayHTTPWire
import HTTPTypes
package import NIOCore

/// The async end of an ``ExchangeHandler``, which a chain of interceptors calls last.
///
/// `@unchecked Sendable`: the handler is used on its event loop only.
package struct ExchangeClient: @unchecked Sendable {
  /// The handler, for use on ``eventLoop`` only.
  package let handler: any ExchangeHandler
  private let executor: LoopExecutor
  private let observation: Observation?

  package var eventLoop: any EventLoop { executor.eventLoop }

  /// - Parameter observation: for requests that are not observed yet.
  package init(_ handler: any ExchangeHandler, on executor: LoopExecutor, observation: Observation? = nil) {
    self.handler = handler
    self.executor = executor
    self.observation = observation
  }

  /// Sends a request; returns with the response's head, while both bodies continue streaming.
  package func send(_ request: Request) async throws -> Response {
    let exchange = ClientExchange(request, executor: executor, observation: observation)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        executor.eventLoop.runNowOrSoon { exchange.begin(with: self.handler, continuation) }
      }
    } onCancel: {
      executor.eventLoop.runNowOrSoon { exchange.cancel() }
    }
  }
}

/// An exchange of an ``ExchangeClient``.
///
/// `@unchecked Sendable`: every stored property is used on the event loop only.
private final class ClientExchange: ResponseSink, @unchecked Sendable {
  private let request: Request
  private let executor: LoopExecutor
  private var continuation: CheckedContinuation<Response, any Error>?
  private var upstream: (any RequestSink)?
  private var pump: BodyPump?
  private var responseBody: IncomingBody?
  private var deadline: Scheduled<Void>?
  private var isEnded = false
  private let observation: Observation?
  /// The record of this client's own exchange; `nil` if the request is observed for its sender.
  private var observed: ObservedExchange?

  init(_ request: Request, executor: LoopExecutor, observation: Observation?) {
    self.request = request
    self.executor = executor
    self.observation = observation
  }

  func begin(with handler: any ExchangeHandler, _ continuation: CheckedContinuation<Response, any Error>) {
    // Cancelled before it began.
    if isEnded {
      continuation.resume(
        throwing: BywayError(.cancelled, "The request was cancelled by its caller.", processing: .none))
      return
    }
    self.continuation = continuation
    if let deadline = request.deadline {
      self.deadline = executor.eventLoop.scheduleTask(deadline: deadline) { self.deadlinePassed() }
    }
    let isComplete = request.body.isKnownEmpty && !request.head.kind.asksForTunnel
    var fields = fields()
    if request.observed == nil { observed = observation?.begin(&fields, .http2, isComplete: isComplete) }
    var head = ExchangeHead(
      fields: fields, isComplete: isComplete, deadline: request.deadline, observed: observed ?? request.observed)
    head.user = request.user
    head.client = request.client
    let upstream = handler.begin(head, respondingTo: self)
    if isEnded { return }
    self.upstream = upstream
    if !isComplete, pump == nil { startPump() }
  }

  func cancel() {
    end(with: BywayError(.cancelled, "The request was cancelled by its caller."), tellingUpstream: true)
  }

  private func fields() -> FieldSection {
    var fields = FieldSection(request.head)
    let method = request.head.method
    if let length = request.body.length, length > 0 || method.expectsContent, !request.head.kind.asksForTunnel,
      !fields.contains(.contentLength)
    {
      fields.append(.contentLength, String(length))
    }
    return fields
  }

  private func startPump() {
    let pump = BodyPump(on: executor)
    self.pump = pump
    pump.start(
      request.body,
      write: {
        self.observed?.requestBody($0)
        self.upstream?.write($0)
      },
      finish: {
        self.observed?.requestEnded()
        self.upstream?.finish(trailers: $0)
      },
      failed: { self.end(with: BywayError($0), tellingUpstream: true) })
  }

  private func deadlinePassed() {
    guard continuation != nil else { return }
    let error = BywayError(.timedOut, "No response came before the request's deadline.")
    end(with: error, tellingUpstream: true)
  }

  /// Ends the exchange, once.
  private func end(with error: BywayError?, tellingUpstream: Bool) {
    guard !isEnded else { return }
    isEnded = true
    if let error { observed?.failed(error) }
    observed?.ended()
    deadline?.cancel()
    pump?.cancel()
    if tellingUpstream, let error { upstream?.cancel(error) }
    upstream = nil
    guard let error else { return }
    continuation.take()?.resume(throwing: error)
    responseBody?.fail(error)
  }

  // MARK: ResponseSink

  func informational(_ head: FieldSection) {
    guard let report = request.onInformational, let response = HTTPResponse(head) else { return }
    report(response)
  }

  func head(_ head: FieldSection, isComplete: Bool) {
    deadline?.cancel()
    observed?.responseBegan(head)
    guard let response = HTTPResponse(head) else {
      end(with: BywayError(.protocolViolation, "The response's head cannot be represented."), tellingUpstream: true)
      return
    }
    if isComplete {
      end(with: nil, tellingUpstream: false)
      continuation.take()?.resume(returning: Response(response))
      return
    }
    let body = IncomingBody(on: executor.eventLoop)
    body.onConsumed = { self.upstream?.didConsumeResponse($0) }
    body.onCancelled = { self.cancel() }
    responseBody = body
    let length = head.withValue(of: .contentLength, FieldGrammar.length) ?? nil
    continuation.take()?.resume(returning: Response(response, body: Body(IncomingBodyHandle(body), length: length)))
  }

  func write(_ bytes: ByteBuffer) {
    observed?.responseBody(bytes)
    responseBody?.receive(bytes)
  }

  func finish(trailers: FieldSection?) {
    end(with: nil, tellingUpstream: false)
    responseBody?.finish(trailers: trailers.flatMap { HTTPFields($0) })
  }

  func fail(_ error: BywayError) {
    end(with: error, tellingUpstream: false)
  }

  func didConsumeRequest(_ bytes: Int) {
    pump?.didConsume(bytes)
  }

  func replayRequest() -> Bool {
    guard request.body.isReplayable else { return false }
    pump?.cancel()
    startPump()
    return true
  }
}

extension HTTPRequest.Method {
  /// Whether content is usual for this method, so that its absence is stated (RFC 9110 §8.6).
  fileprivate var expectsContent: Bool {
    self == .post || self == .put || self == .patch
  }
}
