package import Byway
package import BywayHTTPWire
package import NIOCore

/// Sends one request to a handler and records the response.
///
/// `@unchecked Sendable`: mutable state is used on the event loop only.
package final class CollectedResponse: ResponseSink, @unchecked Sendable {
  private let watch: Watch
  private var upstream: (any RequestSink)?
  private var head: FieldSection?
  private var informationalHeads: [FieldSection] = []
  private var body = ByteBuffer()
  private var trailers: FieldSection?
  private var isEnded = false
  private var failure: BywayError?
  private var credit = 0
  private var isConsuming = true
  /// The body to send if the request is repeated.
  private let replay: String?

  package init(_ eventLoop: any EventLoop, replay: String? = nil) {
    watch = Watch(eventLoop)
    self.replay = replay
  }

  package func begin(
    _ request: FieldSection, isComplete: Bool = true, deadline: NIODeadline? = nil,
    with handler: Unshared<any ExchangeHandler>
  ) async throws {
    try await watch.run {
      self.upstream = handler.value.begin(
        ExchangeHead(fields: request, isComplete: isComplete, deadline: deadline), respondingTo: self)
    }
  }

  // MARK: The request

  package func send(_ text: String) async throws {
    try await watch.run { self.upstream?.write(ByteBuffer(string: text)) }
  }

  package func send(_ bytes: ByteBuffer) async throws {
    try await watch.run { self.upstream?.write(bytes) }
  }

  package func end(trailers: FieldSection? = nil) async throws {
    try await watch.run { self.upstream?.finish(trailers: trailers) }
  }

  package func cancel() async throws {
    try await watch.run { self.upstream?.cancel(BywayError(.cancelled, "Enough.")) }
  }

  /// Bytes of the request's body that were reported as consumed.
  package var creditedBytes: Int {
    get async throws { try await watch.run { self.credit } }
  }

  package func credited(_ bytes: Int) async throws {
    try await watch.until("\(bytes) bytes of the request were consumed, not \(self.credit)") { self.credit >= bytes }
  }

  // MARK: The response

  package func setConsuming(_ isConsuming: Bool) async throws {
    try await watch.run {
      self.isConsuming = isConsuming
      if isConsuming { self.upstream?.didConsumeResponse(self.body.readableBytes) }
    }
  }

  package func responseHead() async throws -> FieldSection {
    try await head(isEnough: { true })
  }

  private func head(isEnough: @escaping @Sendable () -> Bool) async throws -> FieldSection {
    let result = try await watch.value("the response came") { () -> Result<FieldSection, BywayError>? in
      if let failure = self.failure { return .failure(failure) }
      guard let head = self.head, isEnough() else { return nil }
      return .success(head)
    }
    return try result.get()
  }

  package var informationalResponses: [FieldSection] {
    get async throws { try await watch.run { self.informationalHeads } }
  }

  package func response() async throws -> (head: FieldSection, body: String, trailers: FieldSection?) {
    let head = try await head(isEnough: { self.isEnded })
    return try await watch.run { (head, String(buffer: self.body), self.trailers) }
  }

  package func body(until text: String) async throws {
    try await watch.until("the response had \"\(text)\"") { String(buffer: self.body).contains(text) }
  }

  /// Waits until no more of the body arrives, and returns the number of bytes.
  package func settledBodyBytes() async throws -> Int {
    try await watch.settled { self.body.readableBytes }
  }

  // MARK: ResponseSink

  package func informational(_ head: FieldSection) {
    informationalHeads.append(head)
  }

  package func head(_ head: FieldSection, isComplete: Bool) {
    self.head = head
    isEnded = isComplete
  }

  package func write(_ bytes: ByteBuffer) {
    body.writeImmutableBuffer(bytes)
    if isConsuming { upstream?.didConsumeResponse(bytes.readableBytes) }
  }

  package func finish(trailers: FieldSection?) {
    self.trailers = trailers
    isEnded = true
  }

  package func fail(_ error: BywayError) {
    failure = error
  }

  package func didConsumeRequest(_ bytes: Int) {
    credit += bytes
  }

  package func replayRequest() -> Bool {
    guard let replay else { return false }
    watch.eventLoop.execute {
      self.upstream?.write(ByteBuffer(string: replay))
      self.upstream?.finish(trailers: nil)
    }
    return true
  }
}

/// A container that carries a value to the event loop on which it is used.
///
/// `@unchecked Sendable`: the value is used on that event loop only.
package struct Unshared<Value>: @unchecked Sendable {
  package let value: Value

  package init(_ value: Value) {
    self.value = value
  }
}
