import Byway
import NIOCore
import Synchronization

/// The memory for the bodies of paused exchanges, at most a quarter of the process's budget, which counts it. Safe on any thread.
final class PausedMemory: Sendable {
  /// Bytes that are taken until their last reference is released.
  final class Share: Sendable {
    private let memory: PausedMemory
    private let bytes = Atomic(0)

    fileprivate init(_ memory: PausedMemory) {
      self.memory = memory
    }

    deinit { memory.change(by: -bytes.load(ordering: .relaxed)) }

    /// - Returns: whether there is room for that many more bytes.
    func take(_ count: Int) -> Bool {
      guard memory.take(count) else { return false }
      bytes.add(count, ordering: .relaxed)
      return true
    }
  }

  private let budget: MemoryBudget
  private let taken = Mutex(0)

  init(_ budget: MemoryBudget) {
    self.budget = budget
  }

  func share() -> Share { Share(self) }

  private func take(_ count: Int) -> Bool {
    let limit = budget.limit / 4
    let isTaken = taken.withLock { taken in
      guard taken + count <= limit else { return false }
      taken += count
      return true
    }
    // Not within the lock: the budget may ask for memory in turn.
    if isTaken { budget.changeSpare(by: count) }
    return isTaken
  }

  private func change(by count: Int) {
    taken.withLock { $0 += count }
    budget.changeSpare(by: count)
  }
}
