import Synchronization

/// What a cache does in the background: one thing for each URL at a time, not too many in all, none after its owner has
/// gone.
final class Refreshes: Sendable {
  private static let limit = 16

  private let tasks = Mutex<[String: Task<Void, Never>]>([:])

  deinit {
    for task in tasks.withLock({ $0.values }) { task.cancel() }
  }

  func run(_ key: String, _ work: @escaping @Sendable () async -> Void) {
    tasks.withLock { tasks in
      guard tasks[key] == nil, tasks.count < Self.limit else { return }
      tasks[key] = Task { [weak self] in
        await work()
        self?.finish(key)
      }
    }
  }

  private func finish(_ key: String) {
    tasks.withLock { $0[key] = nil }
  }
}
