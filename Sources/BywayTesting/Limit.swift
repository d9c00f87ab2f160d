internal import NIOCore
internal import Synchronization

/// Runs an operation that may be broken: where it does not end in time it is cancelled, and not waited for.
func within<Value: Sendable>(
  _ limit: TimeAmount, _ action: String, _ operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  let caller = Mutex<CheckedContinuation<Value, any Error>?>(nil)
  let shared = Shared(caller)
  return try await withCheckedThrowingContinuation { continuation in
    shared.value.withLock { $0 = continuation }
    let work = Task {
      do {
        let value = try await operation()
        shared.value.withLock { $0.take() }?.resume(returning: value)
      } catch {
        shared.value.withLock { $0.take() }?.resume(throwing: error)
      }
    }
    Task {
      try await Task.sleep(for: .nanoseconds(limit.nanoseconds))
      work.cancel()
      shared.value.withLock { $0.take() }?.resume(throwing: CompatibilityFailure("did not \(action) in time"))
    }
  }
}

/// Gives a lock to several tasks.
private final class Shared<Value: Sendable>: Sendable {
  let value: Mutex<Value>
  init(_ value: consuming sending Mutex<Value>) { self.value = value }
}

extension EventLoopFuture where Value: Sendable {
  /// Fails where the value does not come in time.
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
