import Foundation
import Synchronization

/// A process from its start to its reaping.
///
/// One lock guards sending signals and reaping, so that a signal never reaches another process with the same id.
final class ProcessLife: Sendable {
  private struct State {
    var exit: ChildProcess.Exit?
    var duration: Duration?
    var waiters: [Int: CheckedContinuation<ChildProcess.Exit?, Never>] = [:]
    var nextWaiter = 0
  }

  let id: pid_t
  private let began = ContinuousClock.now
  private let state = Mutex(State())

  init(of id: pid_t) {
    self.id = id
    Thread.detachNewThread {
      var information = siginfo_t()
      while waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) == -1, errno == EINTR {}
      self.reap(after: ContinuousClock.now - self.began)
    }
  }

  var exit: ChildProcess.Exit? { state.withLock { $0.exit } }

  /// The time from the start to the exit. A separate thread measures it: a task that waits for the exit may resume seconds
  /// later, while other tests occupy all threads.
  var duration: Duration? { state.withLock { $0.duration } }

  func send(_ signal: Int32) {
    state.withLock { if $0.exit == nil { _ = kill(id, signal) } }
  }

  func killGroup() {
    state.withLock { if $0.exit == nil { _ = kill(-id, SIGKILL) } }
  }

  func wait(within limit: Duration) async -> ChildProcess.Exit? {
    await withCheckedContinuation { continuation in
      let (exit, number) = state.withLock { state in
        state.nextWaiter += 1
        if state.exit == nil { state.waiters[state.nextWaiter] = continuation }
        return (state.exit, state.nextWaiter)
      }
      if let exit { return continuation.resume(returning: exit) }
      Deadline.after(limit) {
        self.state.withLock { $0.waiters.removeValue(forKey: number) }?.resume(returning: nil)
      }
    }
  }

  private func reap(after duration: Duration) {
    let (exit, waiters) = state.withLock { state in
      var status: Int32 = 0
      waitpid(id, &status, 0)
      let exit: ChildProcess.Exit = status & 0x7F == 0 ? .code(status >> 8 & 0xFF) : .signal(status & 0x7F)
      defer { state.waiters = [:] }
      state.exit = exit
      state.duration = duration
      return (exit, state.waiters.values)
    }
    for waiter in waiters { waiter.resume(returning: exit) }
  }
}
