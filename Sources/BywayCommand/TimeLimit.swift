import NIOCore

/// Waits for an operation until its time is up, or its caller is cancelled. It is cancelled then, but not waited for:
/// a write to a pipe that nobody reads does not end.
func withTimeLimit<Value: Sendable>(
  _ limit: TimeAmount?, _ timedOut: any Error, _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  let (results, outcome) = AsyncThrowingStream.makeStream(of: Value.self)
  let work = Task {
    do {
      outcome.yield(try await operation())
      outcome.finish()
    } catch {
      outcome.finish(throwing: error)
    }
  }
  let timer = Task {
    guard let limit else { return }
    try await Task.sleep(for: .nanoseconds(limit.nanoseconds))
    outcome.finish(throwing: timedOut)
  }
  defer {
    work.cancel()
    timer.cancel()
  }
  for try await result in results { return result }
  throw CancellationError()
}
