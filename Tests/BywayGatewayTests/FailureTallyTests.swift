import Byway
import NIOCore
import Testing

@testable import BywayGateway

@Suite struct FailureTallyTests {
  private let start = NIODeadline.now()

  @Test("the first failure of a kind is logged at once, and then one in ten seconds with the number of all")
  func one() {
    var tally = FailureTally()
    let down = BywayError(.originUnavailable, "Nothing listens.")
    #expect(tally.add(down, at: start) == .init(message: "Nothing listens.", count: 1))
    for second in 1..<10 { #expect(tally.add(down, at: start + .seconds(Int64(second))) == nil) }
    // The first failure of another kind is logged separately.
    #expect(tally.add(BywayError(.timedOut, "Slow."), at: start + .seconds(5))?.count == 1)
    #expect(tally.add(down, at: start + .seconds(10)) == .init(message: "Nothing listens.", count: 10))
    #expect(!tally.isWaiting)
  }

  @Test("the suppressed failures are logged after ten seconds, even without another failure")
  func due() {
    var tally = FailureTally()
    let error = BywayError(.originLost, "It hung up.")
    for _ in 0..<3 { _ = tally.add(error, at: start) }
    #expect(tally.isWaiting)
    #expect(tally.due(at: start + .seconds(9)) == [])
    #expect(tally.due(at: start + .seconds(10)) == [.init(message: "It hung up.", count: 2)])
    #expect(tally.due(at: start + .seconds(20)) == [])
  }
}
