import Dispatch

/// Runs what computes for long on a thread of its own. On the threads that all tests share it would hold up those that
/// wait for the clock.
final class OwnThread: TaskExecutor {
  static let shared = OwnThread()

  private let queue = DispatchQueue(label: "virtual time")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// With the caller's task-local values, by which a failure finds its test.
  static func run(_ work: @escaping @Sendable () throws -> Void) async throws {
    try await withTaskExecutorPreference(shared) { try await onExecutor(work) }
  }

  @concurrent private static func onExecutor(_ work: @Sendable () throws -> Void) async throws {
    try work()
  }
}
