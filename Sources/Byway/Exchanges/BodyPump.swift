import BywayHTTPWire
import HTTPTypes
import NIOCore

/// Passes a ``Body`` to a sink, never further ahead of its consumer than the gate admits.
///
/// `@unchecked Sendable`: every stored property is used on the event loop only, where the task runs as well.
final class BodyPump: @unchecked Sendable {
  private let executor: LoopExecutor
  private var gate = ReadGate()
  private var waiter: CheckedContinuation<Void, any Error>?
  private var task: Task<Void, Never>?
  private var isCancelled = false

  /// - Parameter readAhead: the read-ahead of the connection that the body is for.
  init(on executor: LoopExecutor, readAhead: ReadAhead? = nil) {
    self.executor = executor
    gate.begin(readAhead)
  }

  /// Starts passing on; `failed` is not called after ``cancel()``.
  func start(
    _ body: Body, write: @escaping (ByteBuffer) -> Void, finish: @escaping (FieldSection?) -> Void,
    failed: @escaping (any Error) -> Void
  ) {
    nonisolated(unsafe) let (write, finish, failed) = (write, finish, failed)
    task = Task(executorPreference: executor) { [self] in
      do {
        defer { gate.end() }
        let trailers = try await run(body, write: write)
        if !isCancelled { finish(trailers.map(FieldSection.init)) }
      } catch {
        if !isCancelled { failed(error) }
      }
    }
  }

  func didConsume(_ bytes: Int) {
    gate.consumed(bytes)
    if gate.room > 0 { waiter.take()?.resume() }
  }

  func cancel() {
    isCancelled = true
    gate.end()
    task?.cancel()
    waiter.take()?.resume(throwing: CancellationError())
  }

  private func run(_ body: Body, write: (ByteBuffer) -> Void) async throws -> HTTPFields? {
    var sent = 0
    for try await chunk in body {
      if gate.room <= 0 { try await capacity() }
      if isCancelled { throw CancellationError() }
      guard chunk.readableBytes > 0 else { continue }
      sent += chunk.readableBytes
      if let length = body.length, sent > length { throw Self.wrongLength(sent, of: length) }
      gate.received(chunk.readableBytes)
      write(chunk)
    }
    if let length = body.length, sent != length { throw Self.wrongLength(sent, of: length) }
    return await body.trailers()
  }

  private func capacity() async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      if isCancelled { continuation.resume(throwing: CancellationError()) } else { waiter = continuation }
    }
  }

  private static func wrongLength(_ sent: Int, of length: Int) -> BywayError {
    BywayError(.invalidRequest, "The body has \(sent) bytes, but its length was given as \(length).")
  }
}
