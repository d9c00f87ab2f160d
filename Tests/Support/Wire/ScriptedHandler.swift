package import Byway
package import BywayHTTPWire
package import NIOCore

/// A handler whose responses come from the test.
///
/// `@unchecked Sendable`: mutable state is used on the event loop only.
package final class ScriptedHandler: ExchangeHandler, @unchecked Sendable {
  private let watch: Watch
  private var exchanges: [ScriptedExchange] = []
  /// Responds immediately, on the event loop.
  private let answer: (@Sendable (ScriptedExchange) -> Void)?

  package init(on eventLoop: any EventLoop, answer: (@Sendable (ScriptedExchange) -> Void)? = nil) {
    watch = Watch(eventLoop)
    self.answer = answer
  }

  package func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    let exchange = ScriptedExchange(request, sink: sink, watch: watch)
    exchanges.append(exchange)
    answer?(exchange)
    return exchange
  }

  /// Waits until the exchange with that index has begun, and returns it.
  package func exchange(_ index: Int = 0) async throws -> ScriptedExchange {
    try await watch.value("exchange \(index) began") {
      self.exchanges.indices.contains(index) ? self.exchanges[index] : nil
    }
  }

  package var count: Int {
    get async throws { try await watch.run { self.exchanges.count } }
  }

  /// Waits until no more exchanges begin, and returns their number.
  package func settledCount() async throws -> Int {
    try await watch.settled { self.exchanges.count }
  }
}

/// An exchange of a ``ScriptedHandler``.
///
/// `@unchecked Sendable`: mutable state is used on the event loop only.
package final class ScriptedExchange: RequestSink, @unchecked Sendable {
  package let head: FieldSection
  package let isComplete: Bool
  private let sink: any ResponseSink
  private let watch: Watch
  private var body = ByteBuffer()
  private var isFinished = false
  private var trailers: FieldSection?
  private var cancellation: BywayError?
  private var consumed = 0
  private var isConsuming = true
  private var unconsumed = 0

  init(_ request: ExchangeHead, sink: any ResponseSink, watch: Watch) {
    head = request.fields
    isComplete = request.isComplete
    self.sink = sink
    self.watch = watch
  }

  // MARK: The request

  package func write(_ bytes: ByteBuffer) {
    body.writeImmutableBuffer(bytes)
    if isConsuming { sink.didConsumeRequest(bytes.readableBytes) } else { unconsumed += bytes.readableBytes }
  }

  package func finish(trailers: FieldSection?) {
    isFinished = true
    self.trailers = trailers
  }

  package func cancel(_ reason: BywayError) {
    cancellation = reason
  }

  package func didConsumeResponse(_ bytes: Int) {
    consumed += bytes
  }

  /// Waits for the end of the body and returns it.
  package func requestBody() async throws -> (body: String, trailers: FieldSection?) {
    try await watch.until("the request ended") { self.isFinished }
    return try await watch.run { (String(buffer: self.body), self.trailers) }
  }

  package func requestBody(until text: String) async throws {
    try await watch.until("the request's body had \"\(text)\"") { String(buffer: self.body).contains(text) }
  }

  package func cancelled() async throws -> BywayError {
    try await watch.value("the exchange was cancelled") { self.cancellation }
  }

  /// Sets whether body bytes are reported as consumed. `true` also reports those held back before.
  package func setConsuming(_ isConsuming: Bool) async throws {
    try await watch.run {
      self.isConsuming = isConsuming
      guard isConsuming else { return }
      let bytes = self.unconsumed
      self.unconsumed = 0
      self.sink.didConsumeRequest(bytes)
    }
  }

  /// Waits until no more of the body arrives, and returns the number of bytes.
  package func settledRequestBytes() async throws -> Int {
    try await watch.settled { self.body.readableBytes }
  }

  package func requestBody(count: Int) async throws {
    try await watch.until("\(count) bytes of the request came") { self.body.readableBytes >= count }
  }

  // MARK: The response

  /// Sends a complete response; call it on the event loop.
  package func answerNow(_ head: FieldSection, _ body: String? = nil) {
    sink.head(head, isComplete: body == nil)
    guard let body else { return }
    sink.write(ByteBuffer(string: body))
    sink.finish(trailers: nil)
  }

  package func answer(_ head: FieldSection, _ body: String? = nil) async throws {
    try await watch.run { self.answerNow(head, body) }
  }

  package func informational(_ head: FieldSection) async throws {
    try await watch.run { self.sink.informational(head) }
  }

  package func begin(_ head: FieldSection) async throws {
    try await watch.run { self.sink.head(head, isComplete: false) }
  }

  package func send(_ bytes: ByteBuffer) async throws {
    try await watch.run { self.sink.write(bytes) }
  }

  package func send(_ text: String) async throws {
    try await send(ByteBuffer(string: text))
  }

  package func end(trailers: FieldSection? = nil) async throws {
    try await watch.run { self.sink.finish(trailers: trailers) }
  }

  package func fail(_ error: BywayError) async throws {
    try await watch.run { self.sink.fail(error) }
  }

  package func failNow(_ error: BywayError) {
    sink.fail(error)
  }

  /// Bytes of the response that were reported as consumed.
  package var consumedBytes: Int {
    get async throws { try await watch.run { self.consumed } }
  }

  package func consumed(atLeast bytes: Int) async throws {
    try await watch.until("\(bytes) bytes of the response were consumed") { self.consumed >= bytes }
  }
}
