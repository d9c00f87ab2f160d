import Foundation
import Testing

@testable import BywayLineLayer

/// `BYWAY_SEED=n` repeats one run; `BYWAY_RUNS=n` makes that many.
@Suite("Random sessions")
struct RandomRunTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seed = environment["BYWAY_SEED"].flatMap { UInt64($0) }
  private static let count = environment["BYWAY_RUNS"].flatMap { Int($0) } ?? 2000
  /// Runs are split into groups to use all cores.
  private static let groups = 50

  @Test(
    "under random faults no byte is wrong or delivered twice, and after them a session finishes well",
    arguments: 0..<groups)
  func runs(_ group: Int) {
    if let seed = Self.seed {
      if group == 0 { expectGood(seed) }
      return
    }
    for turn in 0..<(Self.count / Self.groups) { expectGood(UInt64(turn * Self.groups + group)) }
  }

  @Test(
    "a random session that once failed does not fail again",
    arguments: [
      // A dialer sent more than the listener's window before it knew that.
      340,
      // Silence in place of the last acknowledgement, for an end without data.
      3271, 4637,
    ] as [UInt64])
  func earlierFailures(_ seed: UInt64) { expectGood(seed) }

  private func expectGood(_ seed: UInt64) {
    var run = RandomRun(seed: seed)
    if let failure = run.failure() { Issue.record("BYWAY_SEED=\(seed): \(failure)") }
  }
}
