import Dispatch
import Synchronization

/// The time of the last progress, and whether a delegate is being waited for. Safe on any thread.
final class ProgressClock: Sendable {
  private let last = Atomic(DispatchTime.now().uptimeNanoseconds)
  private let holds = Atomic(0)

  func note() {
    last.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed)
  }

  /// The idle time in seconds.
  var idle: Double {
    if holds.load(ordering: .relaxed) > 0 { return 0 }
    let now = DispatchTime.now().uptimeNanoseconds
    return Double(now - min(now, last.load(ordering: .relaxed))) * 1e-9
  }

  /// Runs a closure that waits for a delegate. This does not count as waiting for the link.
  func holding<Result>(_ body: () async throws -> Result) async rethrows -> Result {
    holds.add(1, ordering: .relaxed)
    defer {
      note()
      holds.subtract(1, ordering: .relaxed)
    }
    return try await body()
  }
}
