import Dispatch

/// Runs an actor on a task's work queue, so that the compiler enforces Foundation's requirements.
final class WorkQueue: SerialExecutor {
  let queue: DispatchQueue

  init(_ queue: DispatchQueue) {
    self.queue = queue
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// Called because `startLoading` and `stopLoading` run on the queue without a Swift task.
  func checkIsolated() {
    dispatchPrecondition(condition: .onQueue(queue))
  }
}
