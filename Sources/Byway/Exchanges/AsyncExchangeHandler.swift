import BywayHTTPWire
package import HTTPTypes
import NIOCore

/// Handles exchanges with an async function: a Swift handler in process, or a chain of interceptors.
package final class AsyncExchangeHandler: ExchangeHandler {
  private let executor: LoopExecutor
  private let respond: @Sendable (Request) async throws -> Response
  private let isLast: Bool

  /// - Parameter isLast: whether no later hop answers `Expect: 100-continue` (RFC 9110 §10.1.1).
  package init(
    on executor: LoopExecutor, isLast: Bool = true, _ respond: @escaping @Sendable (Request) async throws -> Response
  ) {
    self.executor = executor
    self.isLast = isLast
    self.respond = respond
  }

  package func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    let exchange = HandlerExchange(request, sink: sink, executor: executor)
    exchange.start(request, isLast: isLast, respond)
    return exchange
  }
}

/// Runs interceptors before a handler; an exchange out of their scopes goes directly to it, without a task.
package final class InterceptingHandler: ExchangeHandler {
  private let claims: [Claim]
  private let chain: AsyncExchangeHandler
  private let next: any ExchangeHandler

  /// - Parameter destination: returns the destination of a request at that handler.
  package init(
    _ interceptors: [any Interceptor], before next: any ExchangeHandler, on executor: LoopExecutor,
    destination: @escaping @Sendable (HTTPRequest) -> Destination
  ) {
    claims = interceptors.map(Claim.init)
    let client = ExchangeClient(next, on: executor)
    let rest = Next(interceptors[...], to: client, destination: destination)
    chain = AsyncExchangeHandler(on: executor, isLast: false) { try await rest($0) }
    self.next = next
  }

  package func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    (isClaimed(request) ? chain : next).begin(request, respondingTo: sink)
  }

  private func isClaimed(_ request: ExchangeHead) -> Bool {
    for claim in claims where claim.contains(request) { return true }
    return false
  }
}

/// The requests of one interceptor. A class, so that a request that it does not get copies nothing.
private final class Claim: Sendable {
  private let scope: Scope
  private let occasion: (any OccasionalInterceptor)?

  init(_ interceptor: any Interceptor) {
    scope = interceptor.scope
    occasion = interceptor as? any OccasionalInterceptor
  }

  func contains(_ request: ExchangeHead) -> Bool {
    if let occasion, !occasion.isNeeded { return false }
    return scope.contains(request)
  }
}

extension FieldSection {
  /// Whether its sender waits for 100 (Continue) before it sends the body.
  fileprivate var expectsContinue: Bool {
    withValue(of: .expect) { FieldGrammar.equal($0, lowercased: "100-continue") } ?? false
  }
}

/// An exchange of an ``AsyncExchangeHandler``.
///
/// `@unchecked Sendable`: every stored property is used on the event loop only, where the task runs as well.
private final class HandlerExchange: RequestSink, @unchecked Sendable {
  private let executor: LoopExecutor
  private var sink: (any ResponseSink)?
  private let requestBody: IncomingBody
  private let readAhead: ReadAhead?
  private var pump: BodyPump?
  private var task: Task<Void, Never>?

  init(_ request: ExchangeHead, sink: any ResponseSink, executor: LoopExecutor) {
    self.executor = executor
    self.sink = sink
    readAhead = request.readAhead
    requestBody = IncomingBody(on: executor.eventLoop)
  }

  func start(_ head: ExchangeHead, isLast: Bool, _ respond: @escaping @Sendable (Request) async throws -> Response) {
    guard let httpRequest = HTTPRequest(head.fields) else {
      fail(BywayError(.invalidRequest, "The request's head cannot be represented.", processing: .none))
      return
    }
    var body = Body.empty
    if head.isComplete {
      requestBody.finish(trailers: nil)
    } else {
      requestBody.onConsumed = { [weak self] in self?.sink?.didConsumeRequest($0) }
      if isLast, head.fields.expectsContinue {
        requestBody.onAwaited = { [weak self] in self?.sink?.informational([":status": "100"]) }
      }
      let length = head.fields.withValue(of: .contentLength, FieldGrammar.length) ?? nil
      body = Body(IncomingBodyHandle(requestBody), length: length)
    }
    var request = Request(httpRequest, body: body, deadline: head.deadline)
    request.onInformational = { [self] response in
      executor.eventLoop.runNowOrSoon { self.sink?.informational(FieldSection(response)) }
    }
    request.observed = head.observed
    request.user = head.user
    request.client = head.client
    let sent = request
    task = Task(executorPreference: executor) { [self] in
      do {
        send(try await respond(sent), to: httpRequest.kind)
      } catch {
        fail(BywayError(error))
      }
    }
  }

  private func send(_ response: Response, to request: RequestKind) {
    guard let sink else { return }
    var head = FieldSection(response.head)
    let status = response.head.status.code
    let isBodiless = request == .head || status == 204 || status == 304
    if !isBodiless, !request.asksForTunnel, let length = response.body.length, !head.contains(.contentLength) {
      head.append(.contentLength, String(length))
    }
    if isBodiless || response.body.isKnownEmpty {
      sink.head(head, isComplete: true)
      end()
      return
    }
    sink.head(head, isComplete: false)
    let pump = BodyPump(on: executor, readAhead: readAhead)
    self.pump = pump
    pump.start(
      response.body,
      write: { self.sink?.write($0) },
      finish: {
        self.sink?.finish(trailers: $0)
        self.end()
      },
      failed: { self.fail(BywayError($0)) })
  }

  private func fail(_ error: BywayError) {
    sink?.fail(error)
    end()
  }

  private func end() {
    sink = nil
    pump = nil
    requestBody.fail(BywayError(.cancelled, "The exchange has ended."))
  }

  // MARK: RequestSink

  func write(_ bytes: ByteBuffer) {
    requestBody.receive(bytes)
  }

  func finish(trailers: FieldSection?) {
    requestBody.finish(trailers: trailers.flatMap { HTTPFields($0) })
  }

  func cancel(_ reason: BywayError) {
    sink = nil
    requestBody.fail(reason)
    pump?.cancel()
    task?.cancel()
  }

  func didConsumeResponse(_ bytes: Int) {
    pump?.didConsume(bytes)
  }
}
