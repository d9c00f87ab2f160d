import Dispatch

/// Runs work that reads or opens files on a separate thread.
///
/// A file system may never answer. The status and the end of a daemon do not wait for it.
package enum FileWork {
  package static func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "byway.files").async { continuation.resume(with: Result(catching: work)) }
    }
  }
}
