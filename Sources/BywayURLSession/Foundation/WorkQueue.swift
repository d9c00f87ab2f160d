import Dispatch

/// Runs an actor on a task's work queue, so that the compiler sees to what Foundation demands.
final class WorkQueue: SerialExecutor {
  let queue: DispatchQueue

  init(_ queue: DispatchQueue) {
    self.queue = queue
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// `startLoading` and `stopLoading` are called there without a Swift task.
  func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }
}
