package import NIOCore

/// Runs tasks on an event loop, so that an exchange and its connection share a thread without switching.
package final class LoopExecutor: TaskExecutor {
  package let eventLoop: any EventLoop

  package init(_ eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
