/// Waits for an operation until its time limit, or until the caller is cancelled. The operation is then cancelled, but not waited
/// for: a write to a pipe without a reader does not end.
///
/// - Parameters:
///   - limit: `nil` for no limit.
///   - waits: Whether a cancelled operation must have returned before this throws.
/// - Throws: `timedOut`, or what the operation throws.
package func withTimeLimit<Value: Sendable>(
  _ limit: Duration?, throwing timedOut: any Error, waits: Bool = false,
  _ operation: @escaping @Sendable () async throws -> Value
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
    try await Task.sleep(for: max(limit, .zero))
    outcome.finish(throwing: timedOut)
  }
  defer { timer.cancel() }
  do {
    for try await result in results { return result }
    throw CancellationError()
  } catch {
    work.cancel()
    if waits { await work.value }
    throw error
  }
}
