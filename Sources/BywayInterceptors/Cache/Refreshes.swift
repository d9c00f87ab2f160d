import Synchronization

/// The background work of a cache: one task for each URL at a time, up to a limit. Each has a deadline of its own, and holds its
/// resources until then.
final class Refreshes: Sendable {
  private static let limit = 16

  private let running = Mutex<Set<String>>([])

  func run(_ key: String, _ work: @escaping @Sendable () async -> Void) {
    let mayRun = running.withLock { $0.count < Self.limit && $0.insert(key).inserted }
    guard mayRun else { return }
    Task {
      await work()
      running.withLock { _ = $0.remove(key) }
    }
  }
}
