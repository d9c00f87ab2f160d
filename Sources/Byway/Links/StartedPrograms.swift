package import NIOCore
import Synchronization

/// The programs that a transport has started for one owner, while they run. Safe on any thread.
package final class StartedPrograms: Sendable {
  private struct State {
    /// The functions that send signals, by process.
    var running: [Int32: @Sendable (Int32) -> Void] = [:]
    var starts = 0
    var latestStart: NIODeadline?
    var waiters: [AsyncStream<Void>.Continuation] = []
  }

  /// The name of the programs in the log.
  package let name: String
  private let state = Mutex(State())

  package init(name: String) {
    self.name = name
  }

  /// The identifiers of the processes, in ascending order.
  package var processIDs: [Int32] { state.withLock { $0.running.keys.sorted() } }
  /// How many programs were started so far.
  package var starts: Int { state.withLock(\.starts) }
  /// When the latest of them was started.
  package var latestStart: NIODeadline? { state.withLock(\.latestStart) }

  /// - Parameter signal: sends a signal to the program; does nothing after its end.
  package func began(_ process: Int32, signal: @escaping @Sendable (Int32) -> Void) {
    state.withLock { state in
      state.running[process] = signal
      state.starts += 1
      state.latestStart = .now()
    }
  }

  package func ended(_ process: Int32) {
    let waiters = state.withLock { state in
      state.running[process] = nil
      return state.running.isEmpty ? state.waiters.take() : []
    }
    for waiter in waiters { waiter.finish() }
  }

  /// Sends a signal to all of them.
  package func signal(_ number: Int32) {
    for signal in state.withLock({ Array($0.running.values) }) { signal(number) }
  }

  /// Waits until none of them runs, or until the task is cancelled.
  package func untilNoneRuns() async {
    let (end, waiter) = AsyncStream.makeStream(of: Void.self)
    let isOver = state.withLock { state in
      if state.running.isEmpty { return true }
      state.waiters.append(waiter)
      return false
    }
    if isOver { return }
    for await _ in end {}
  }
}

extension [AsyncStream<Void>.Continuation] {
  fileprivate mutating func take() -> Self {
    defer { self = [] }
    return self
  }
}
