import NIOCore
import Testing

@testable import Byway

/// The lines of a failure that recurs, in virtual time.
@Suite("Log of a recurring failure") struct RecurrenceLogTests {
  private func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(1_000) + .seconds(seconds) }

  /// Returns the times, in seconds, at which a failure every two seconds has a line, and the sum of all counts.
  private func lines(until end: Int64, _ reason: (Int64) -> String) -> (times: [Int64], failures: Int) {
    var log = RecurrenceLog()
    var times: [Int64] = []
    var failures = 0
    for second in stride(from: 0, through: end, by: 2) {
      guard case .line(let repeated) = log.failed(because: reason(second), at: at(second)) else { continue }
      times.append(second)
      failures += repeated + 1
    }
    return (times, failures)
  }

  @Test("the same failure has a line at once, and after 1, 2, 4 … minutes; each line counts those before it")
  func growing() {
    let (times, failures) = lines(until: 900) { _ in "a" }
    #expect(times == [0, 60, 180, 420, 900])
    // The first one, and one every two seconds.
    #expect(failures == 451)
  }

  @Test("the lines of a long failure are 64 minutes apart")
  func longest() {
    let times = lines(until: 60 * 60 * 24) { _ in "a" }.times
    let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
    #expect(gaps.max() == 64 * 60 && gaps.count(where: { $0 == 64 * 60 }) > 10)
  }

  @Test("a new reason has a line at once, and is repeated after one minute")
  func changed() {
    let times = lines(until: 500) { $0 < 300 ? "a" : "b" }.times
    #expect(times == [0, 60, 180, 300, 360, 480])
  }

  @Test("reasons that alternate have one line each, and no more lines than a single one")
  func alternating() {
    let times = lines(until: 420) { $0 % 4 == 0 ? "a" : "b" }.times
    #expect(times == [0, 2, 62, 182])
  }

  @Test("a peer that sends another reason each time gets nine lines in a minute")
  func hostile() {
    let times = lines(until: 100) { "\($0)" }.times
    #expect(times == [0, 2, 4, 6, 8, 10, 12, 14, 74])
  }
}
