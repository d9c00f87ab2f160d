import Byway
import NIOCore

/// Runs an operation that ends with an error at the deadline; it is cancelled then, and has returned before this
/// throws.
func within<Result: Sendable>(
  _ deadline: NIODeadline?, _ message: @autoclosure () -> String,
  _ operation: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  guard let deadline else { return try await operation() }
  let outcome = try await withThrowingTaskGroup(of: Result?.self) { group in
    group.addTask { try await operation() }
    group.addTask {
      try await Task.sleep(for: .nanoseconds(max((deadline - .now()).nanoseconds, 0)))
      return nil
    }
    defer { group.cancelAll() }
    return try await group.next() ?? nil
  }
  guard let outcome else { throw BywayError(.timedOut, message()) }
  return outcome
}
