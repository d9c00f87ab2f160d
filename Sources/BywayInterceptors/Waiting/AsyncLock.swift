import Synchronization

/// A lock that one task has at a time, in the order of arrival. A task that is cancelled while it waits leaves the queue.
final class AsyncLock: Sendable {
  private struct State {
    var isTaken = false
    var waiters: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    var nextID = 0
  }

  private let state = Mutex(State())

  func pass<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
    try await enter()
    defer { unlock() }
    return try await body()
  }

  private func enter() async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isFree = state.withLock { state -> Bool? in
          // Checked under the lock, so that a cancellation either finds this waiter or is found here.
          if Task.isCancelled { return nil }
          if state.isTaken {
            state.waiters.append((id, continuation))
            return false
          }
          state.isTaken = true
          return true
        }
        switch isFree {
        case nil: continuation.resume(throwing: CancellationError())
        case true?: continuation.resume()
        case false?: break
        }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0).continuation }
      }
      waiter?.resume(throwing: CancellationError())
    }
  }

  private func unlock() {
    let next = state.withLock { state in
      if state.waiters.isEmpty {
        state.isTaken = false
        return nil as CheckedContinuation<Void, any Error>?
      }
      return state.waiters.removeFirst().continuation
    }
    next?.resume()
  }
}
