import Synchronization

/// A counter of served exchanges without their details, at almost no cost. Safe on any thread.
package final class ExchangeTally: Sendable {
  private let begun = Atomic(0)
  private let done = Atomic(0)
  private let failures = Mutex<[BywayError.Code: Int]>([:])

  package init() {}

  func began() {
    begun.add(1, ordering: .relaxed)
  }

  /// - Parameter failure: `nil` if the response is complete.
  func ended(_ failure: BywayError.Code?) {
    if let failure {
      failures.withLock { $0[failure, default: 0] += 1 }
    } else {
      done.add(1, ordering: .relaxed)
    }
  }

  package var doneCount: Int { done.load(ordering: .relaxed) }
  /// The numbers of failures by code.
  package var failedCounts: [BywayError.Code: Int] { failures.withLock(\.self) }
  package var runningCount: Int {
    max(0, begun.load(ordering: .relaxed) - doneCount - failedCounts.values.reduce(0, +))
  }
}
