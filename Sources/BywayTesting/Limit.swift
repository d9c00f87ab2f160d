import BywayPrimitives
import NIOCore

/// Runs an operation that may be broken: if it does not end in time it is cancelled, and not waited for.
func within<Value: Sendable>(
  _ limit: TimeAmount, _ action: String, _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await withTimeLimit(
    Duration(limit), throwing: CompatibilityFailure("did not \(action) in time"), operation)
}

extension EventLoopFuture where Value: Sendable {
  /// Fails if the value does not arrive in time.
  func within(_ limit: TimeAmount, _ action: String) -> EventLoopFuture<Value> {
    let promise = eventLoop.makePromise(of: Value.self)
    let timeout = eventLoop.scheduleTask(in: limit) {
      promise.fail(CompatibilityFailure("did not \(action) in time"))
    }
    whenComplete { result in
      timeout.cancel()
      promise.completeWith(result)
    }
    return promise.futureResult
  }
}
