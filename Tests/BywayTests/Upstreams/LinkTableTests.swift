import NIOCore
import Testing

@testable import Byway

/// The order in which links are tried, in virtual time.
@Suite struct LinkTableTests {
  private let start = NIODeadline.uptimeNanoseconds(1_000_000_000)
  private let error = BywayError(.linkUnavailable, "Nobody listens.")

  private func table(_ count: Int) -> LinkTable { LinkTable(count: count, at: start) }

  @Test("the best link that has not failed is dialed next, and then the best of the failed ones")
  func order() {
    var table = table(3)
    #expect(table.next(without: [], at: start) == 0)
    table.failed(0, error, at: start, fraction: 1)
    #expect(table.next(without: [], at: start) == 1)
    #expect(table.next(without: [1], at: start) == 2)
    #expect(table.next(without: [1, 2], at: start) == 0)
    #expect(table.next(without: [0, 1, 2], at: start) == nil)
    // After its pause the link is the best again.
    #expect(table.next(without: [], at: start + .seconds(2)) == 0)
  }

  @Test("pauses grow with the time that a link is down, and at most a quarter of each is random")
  func pauses() {
    for fraction in [0.0, 1.0] {
      var table = table(2)
      table.taken(1, at: start)
      var now = start
      var pauses: [TimeAmount] = []
      while now < start + .minutes(10) {
        table.failed(0, error, at: now, fraction: fraction)
        let next = table.nextTrial(betterThan: 1)?.at ?? now
        // The delay until a link is tried again is limited to this.
        #expect(next - now <= max(.seconds(2), .nanoseconds((now - start).nanoseconds / 4)))
        pauses.append(next - now)
        now = next
      }
      #expect(pauses.first == .milliseconds(fraction == 1 ? 2000 : 1500))
      #expect(pauses.last == .milliseconds(fraction == 1 ? 30_000 : 22_500))
      #expect(zip(pauses, pauses.dropFirst()).allSatisfy { $0 <= $1 })
    }
  }

  @Test(
    "a link that fails soon after its trial must be stable for longer, from three seconds up to five minutes"
  )
  func trials() {
    var table = table(2)
    var now = start
    var trials: [TimeAmount] = []
    for _ in 0..<10 {
      table.passed(0)
      table.taken(0, at: now)
      now = now + .seconds(5)
      table.failed(0, error, at: now, fraction: 1)
      trials.append(table.trial(of: 0))
    }
    #expect(Array(trials.prefix(3)) == [.seconds(6), .seconds(12), .seconds(24)])
    #expect(trials.last == .minutes(5))
    table.taken(0, at: now)
    table.failed(0, error, at: now + .hours(1), fraction: 1)
    #expect(table.trial(of: 0) == .seconds(3))
    // The first use is not a trial.
    table.taken(0, at: now + .hours(2))
    table.failed(0, error, at: now + .hours(2) + .seconds(1), fraction: 1)
    #expect(table.trial(of: 0) == .seconds(3))
  }

  @Test("further failed attempts do not change the time since which a link is down")
  func since() throws {
    var table = table(2)
    table.failed(0, error, at: start + .seconds(1), fraction: 1)
    table.failed(0, error, at: start + .seconds(9), fraction: 1)
    #expect(table.state(of: 0).since == start + .seconds(1))
    table.taken(0, at: start + .seconds(20))
    table.taken(1, at: start + .seconds(30))
    guard case .standingBy = table.state(of: 0).0, case .up = table.state(of: 1).0 else {
      Issue.record("one link must be up, and the other standing by")
      return
    }
    #expect(table.state(of: 0).since == start + .seconds(30))
  }
}
