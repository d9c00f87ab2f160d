package import Glibc

/// A thread of the system's, for who has to wait where no event loop can.
package enum SystemThread {
  private final class Job {
    let run: () -> Void

    init(_ run: @escaping () -> Void) { self.run = run }
  }

  /// Starts one.
  /// - Parameter run: what it does; gone when it has returned, or where there is no thread.
  /// - Returns: what the caller has to join or to detach.
  /// - Throws: where the system has no more threads.
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
