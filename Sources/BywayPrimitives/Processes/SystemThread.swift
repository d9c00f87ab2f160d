package import BywayLibC

/// A thread of the system, for work that has to wait where no event loop can.
package enum SystemThread {
  private final class Job {
    let run: () -> Void

    init(_ run: @escaping () -> Void) { self.run = run }
  }

  /// Starts a thread.
  /// - Parameter run: The work, which is released when it has returned, or if there is no thread.
  /// - Returns: The thread, which the caller has to join or to detach.
  /// - Throws: If the system has no more threads.
  package static func start(_ run: sending @escaping () -> Void) throws(SystemError) -> pthread_t {
    let job = Unmanaged.passRetained(Job(run))
    var thread = pthread_t()
    let result = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<Job>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      }, job.toOpaque())
    guard result == 0 else {
      job.release()
      throw SystemError(code: result)
    }
    return thread
  }
}
