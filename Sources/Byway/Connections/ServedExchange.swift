import BywayHTTPWire
import NIOCore

/// The target of a served exchange's response: a connection to its client, over either HTTP version.
///
/// After a thrown error nothing was written. None of its functions calls the exchange before it returns.
protocol ResponseWriter: AnyObject {
  func informational(_ id: StreamID, _ head: FieldSection)
  func respond(_ id: StreamID, _ head: FieldSection, isComplete: Bool) throws(BywayError)
  func write(_ id: StreamID, _ bytes: ByteBuffer) throws(BywayError)
  func finish(_ id: StreamID, trailers: FieldSection?) throws(BywayError)
  /// Ends a response that cannot be completed. A truncated response must not look like a complete one.
  /// - Parameter status: trailers that tell of the failure; `nil` if its client reads none.
  func cutShort(_ id: StreamID, _ error: BywayError, status: FieldSection?)
  /// Acknowledges bytes of the request that were passed on.
  func consume(_ id: StreamID, _ bytes: Int)
  /// Stops receiving: the rest of the request has no reader.
  func stopReceiving(_ id: StreamID)
}

/// The parts that all exchanges of a serving connection share.
final class ServingTerms {
  /// The name of this hop in its own responses.
  let hop: String
  let responseTimeout: TimeAmount?
  let failed: (@Sendable (BywayError, TraceID?) -> Void)?
  let observation: Observation?
  let tally: ExchangeTally?
  let readAhead: ReadAhead
  /// The account of the connection.
  let memory: MemoryAccount

  init(_ configuration: ServerConfiguration, readAhead: ReadAhead, memory: MemoryAccount) {
    hop = configuration.hop
    responseTimeout = configuration.responseTimeout
    failed = configuration.failed
    observation = configuration.observation
    tally = configuration.tally
    self.readAhead = readAhead
    self.memory = memory
  }
}

/// An exchange on the serving side. It passes the rest of the request to its handler, and the response to its connection.
final class ServedExchange: ResponseSink {
  private enum Request {
    /// More of it may arrive.
    case coming
    case whole
  }

  private enum Response {
    /// The handler has the request, or is about to get it.
    case awaited
    case begun
    /// It has ended, failed, or lost its client.
    case ended
  }

  private let id: StreamID
  private let connection: any ResponseWriter
  private let terms: ServingTerms
  private let isHead: Bool
  private let form: FailureResponse.Form
  private var upstream: (any RequestSink)?
  private var observed: ObservedExchange?
  private var request: Request
  private var response = Response.awaited
  /// Bytes that wait for the client.
  private var unsent = 0
  /// Bytes of the request's head and trailers, until the response has ended.
  private var requestFields: Int
  /// Bytes of the response's head and trailers, until the stream ends: they may wait for the client.
  private var responseFields = 0
  /// Bytes of the request's content that have arrived, and those of them that were not passed on yet.
  private var received = 0
  private var unconsumed = 0
  /// The bytes that the connection's account counts for this exchange.
  private(set) var held = 0
  private var movedAt = NIODeadline.uptimeNanoseconds(0)
  private var failure: BywayError.Code?
  /// Whether the response has begun, and is one of gRPC, whose trailers contain its status.
  private var isCall = false
  /// Whether the response has begun, and is an event stream. It has no end, and its client leaves it when it has seen enough.
  private var isEventStream = false

  /// - Parameters:
  ///   - asked: the request's head, on which the form of a refusal depends; `nil` if the input is not a request.
  ///   - isComplete: whether the request ends with its head.
  init(
    _ id: StreamID, on connection: any ResponseWriter, asked: borrowing FieldSection?, isComplete: Bool,
    terms: ServingTerms
  ) {
    self.id = id
    self.connection = connection
    self.terms = terms
    request = isComplete ? .whole : .coming
    isHead = asked?.withValue(of: .method) { FieldGrammar.equal($0, lowercased: "head") } ?? false
    form = asked.map { FailureResponse.Form(answering: $0) } ?? .problem
    requestFields = asked.map { $0.listSize } ?? 0
    terms.tally?.began()
    account()
  }

  deinit {
    terms.tally?.ended(failure)
    if unsent > 0 { terms.readAhead.sent(unsent) }
    if held > 0 { terms.memory.change(by: -held) }
  }

  // MARK: Memory

  /// Updates the connection's account with the bytes that the exchange holds now.
  private func account() {
    let now = requestFields + responseFields + heldContent + unsent
    guard now != held else { return }
    let change = now - held
    held = now
    terms.memory.change(by: change)
  }

  /// Until the response begins, an upstream keeps content that it may have to send again.
  private var heldContent: Int {
    if case .awaited = response, received <= RequestBacklog.usualLimit { received } else { unconsumed }
  }

  /// Updates the account after held bytes have gone on.
  private func moved() {
    // Small exchanges need no clock.
    if held > MemoryAccount.step { movedAt = .now() }
    account()
  }

  func rank(at now: NIODeadline) -> HeldRank { HeldRank(bytes: held, movedAt: movedAt, now: now) }

  /// Fails the exchange, because memory is short and it holds more than others.
  func drop() {
    let error = BywayError(
      .refused, "The memory for requests and responses that wait is used up: try again.", processing: .possible)
    upstream.take()?.cancel(error)
    terms.failed?(error, observed?.values.trace)
    noteFailure(error)
    switch response {
    case .awaited: answer(FailureResponse(error, hop: terms.hop, status: 503, form: form))
    case .begun, .ended: cutShort(error)
    }
    requestFields = 0
    responseFields = 0
    unconsumed = 0
    terms.readAhead.sent(unsent)
    unsent = 0
    account()
  }

  /// - Parameter fields: the request's head, as far as it is valid.
  func observe(_ fields: inout FieldSection, _ version: ExchangeRecord.Version) {
    let isComplete = if case .whole = request { true } else { false }
    observed = terms.observation?.begin(&fields, version, isComplete: isComplete)
  }

  /// Observes input that is not even the head of a request.
  func observe(_ version: ExchangeRecord.Version) {
    observed = terms.observation?.begin(version)
  }

  func begin(_ fields: consuming FieldSection, _ target: ParsedTarget, with handler: any ExchangeHandler) {
    let isComplete = if case .whole = request { true } else { false }
    let upstream = handler.begin(
      ExchangeHead(
        fields: fields, target: target, isComplete: isComplete, deadline: terms.responseTimeout.map { .now() + $0 },
        readAhead: terms.readAhead, observed: observed),
      respondingTo: self)
    if !isEnded { self.upstream = upstream }
  }

  private func noteFailure(_ error: BywayError, by party: ExchangeRecord.Party? = nil) {
    failure = error.code
    observed?.failed(error, by: party)
  }

  private var isEnded: Bool {
    if case .ended = response { true } else { false }
  }

  // MARK: From the connection

  func requestBody(_ bytes: ByteBuffer) {
    observed?.requestBody(bytes)
    guard let upstream else { return connection.consume(id, bytes.readableBytes) }
    received += bytes.readableBytes
    unconsumed += bytes.readableBytes
    account()
    upstream.write(bytes)
  }

  /// - Parameter trailers: `nil` where there are none, and at the end of a tunnel.
  func requestEnded(trailers: FieldSection?) {
    guard case .coming = request else { return }
    request = .whole
    observed?.requestEnded()
    if let trailers, !isEnded {
      requestFields += trailers.listSize
      account()
    }
    upstream?.finish(trailers: trailers)
  }

  /// The rest of an incomplete request will not arrive.
  func requestLost(_ error: BywayError) {
    guard case .coming = request else { return }
    // The other side of the exchange has not failed, and would continue: a tunnel for ever.
    let upstream = upstream.take()
    noteFailure(error, by: .client)
    fail(error)
    upstream?.cancel(error)
  }

  /// Rejects input that is not a request, or not the rest of one.
  func refuse(_ error: BywayError, status: Int) {
    upstream.take()?.cancel(error)
    request = .whole
    noteFailure(error, by: .client)
    switch response {
    case .awaited: answer(FailureResponse(error, hop: terms.hop, status: status, form: form))
    case .begun: cutShort(error)
    case .ended: break
    }
  }

  /// Bytes of the response have left.
  func drained(_ bytes: Int) {
    // The body of a failure response was not counted.
    let counted = min(bytes, unsent)
    unsent -= counted
    terms.readAhead.sent(counted)
    moved()
    upstream?.didConsumeResponse(bytes)
  }

  /// Its connection counts the bytes that still wait for the client. A handler may keep the exchange.
  func handedOver() {
    requestFields = 0
    responseFields = 0
    terms.readAhead.sent(unsent)
    unsent = 0
    account()
  }

  /// Its connection or stream has ended.
  func closed(_ reason: @autoclosure () -> BywayError) {
    if !isEnded, !isEventStream { noteFailure(reason(), by: .client) }
    observed?.ended()
    response = .ended
    if let upstream = upstream.take() { upstream.cancel(reason()) }
    requestFields = 0
    responseFields = 0
    unconsumed = 0
    account()
  }

  // MARK: ResponseSink

  func informational(_ head: FieldSection) {
    if case .awaited = response { connection.informational(id, head) }
  }

  func head(_ head: FieldSection, isComplete: Bool) {
    guard case .awaited = response else { return }
    do throws(BywayError) {
      try connection.respond(id, head, isComplete: isComplete)
    } catch {
      upstream.take()?.cancel(error)
      noteFailure(error)
      answer(FailureResponse(error, hop: terms.hop, form: form))
      return
    }
    observed?.responseBegan(head)
    response = .begun
    if case .grpc = form, case .grpc = FailureResponse.Form(answering: head) { isCall = true }
    isEventStream = head.isEventStream
    responseFields += head.listSize
    account()
    if isComplete { ended() }
  }

  func write(_ bytes: ByteBuffer) {
    guard case .begun = response, bytes.readableBytes > 0 else { return }
    unsent += bytes.readableBytes
    observed?.responseBody(bytes)
    terms.readAhead.received(bytes.readableBytes)
    account()
    attempt { connection throws(BywayError) in try connection.write(id, bytes) }
  }

  func finish(trailers: FieldSection?) {
    guard case .begun = response else { return }
    observed?.trailers(trailers)
    if let trailers { responseFields += trailers.listSize }
    attempt { connection throws(BywayError) in try connection.finish(id, trailers: trailers) }
    if !isEnded { ended() }
  }

  func fail(_ error: BywayError) {
    guard !isEnded else { return }
    terms.failed?(error, observed?.values.trace)
    noteFailure(error)
    upstream = nil
    switch response {
    case .awaited where error.code == .dropped: cutShort(error)
    case .awaited: answer(FailureResponse(error, hop: terms.hop, form: form))
    case .begun: cutShort(error, status: isCall ? FailureResponse.trailers(of: error, hop: terms.hop) : nil)
    case .ended: break
    }
  }

  func didConsumeRequest(_ bytes: Int) {
    unconsumed -= min(bytes, unconsumed)
    moved()
    connection.consume(id, bytes)
  }

  // MARK: Ending

  /// Responds on behalf of this hop itself.
  private func answer(_ failure: FailureResponse) {
    let isBodiless = isHead || failure.body.readableBytes == 0
    response = .begun
    responseFields = failure.head.listSize + failure.body.readableBytes
    observed?.responseBegan(failure.head)
    attempt { connection throws(BywayError) in
      try connection.respond(id, failure.head, isComplete: isBodiless)
      guard !isBodiless else { return }
      try connection.write(id, failure.body)
      observed?.responseBody(failure.body)
      try connection.finish(id, trailers: nil)
    }
    if !isEnded { ended() }
  }

  private func attempt(_ body: (any ResponseWriter) throws(BywayError) -> Void) {
    do throws(BywayError) {
      try body(connection)
    } catch {
      upstream.take()?.cancel(error)
      cutShort(error)
    }
  }

  private func cutShort(_ error: BywayError, status: FieldSection? = nil) {
    response = .ended
    upstream = nil
    noteFailure(error)
    observed?.ended()
    connection.cutShort(id, error, status: status)
  }

  private func ended() {
    response = .ended
    upstream = nil
    requestFields = 0
    unconsumed = 0
    account()
    observed?.ended()
    if case .coming = request { connection.stopReceiving(id) }
  }
}

extension FieldSection {
  /// Whether the content is of type `text/event-stream`, with or without parameters.
  fileprivate var isEventStream: Bool {
    let type: StaticString = "text/event-stream"
    let length = type.utf8CodeUnitCount
    return withValue(of: .contentType) { value in
      UnsafeRawBufferPointer(rebasing: value.prefix(length)).equals(type)
        && (value.count == length || "; \t".utf8.contains(value[length]))
    } ?? false
  }
}
