import Dispatch

/// A separate thread for long computations. On the threads shared by all tests, they would delay tests that depend on timing.
final class OwnThread: TaskExecutor {
  static let shared = OwnThread()

  private let queue = DispatchQueue(label: "virtual time")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// Runs work with the caller's task-local values, through which a failure finds its test.
  static func run(_ work: @escaping @Sendable () throws -> Void) async throws {
    try await withTaskExecutorPreference(shared) { try await onExecutor(work) }
  }

  @concurrent private static func onExecutor(_ work: @Sendable () throws -> Void) async throws {
    try work()
  }
}
