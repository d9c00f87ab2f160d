import Synchronization

/// Counts the exchanges that are served, and looks at none of them: for who wants to know no more, which costs next to nothing.
/// Safe on any thread.
package final class ExchangeTally: Sendable {
  private let begun = Atomic(0)
  private let done = Atomic(0)
  private let failures = Mutex<[BywayError.Code: Int]>([:])

  package init() {}

  func began() {
    begun.add(1, ordering: .relaxed)
  }

  /// - Parameter failure: `nil` where the response is whole.
  func ended(_ failure: BywayError.Code?) {
    if let failure {
      failures.withLock { $0[failure, default: 0] += 1 }
    } else {
      done.add(1, ordering: .relaxed)
    }
  }

  package var doneCount: Int { done.load(ordering: .relaxed) }
  /// By the kind of failure.
  package var failedCounts: [BywayError.Code: Int] { failures.withLock(\.self) }
  package var runningCount: Int {
    max(0, begun.load(ordering: .relaxed) - doneCount - failedCounts.values.reduce(0, +))
  }
}
