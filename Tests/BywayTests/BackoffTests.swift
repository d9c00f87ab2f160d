import Byway
import NIOCore
import Testing

@Suite struct BackoffTests {
  @Test("the first attempt has no delay, and later delays double up to a limit, half of each at random")
  func doubles() {
    var backoff = Backoff()
    #expect(backoff.pause(fraction: 1) == .zero)
    var pauses: [Int64] = []
    for _ in 0..<9 {
      backoff.fail()
      pauses.append(backoff.pause(fraction: 1).nanoseconds / 1_000_000)
    }
    #expect(pauses == [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000])
    #expect(backoff.pause(fraction: 0) == .milliseconds(2500))
    backoff.reset()
    #expect(backoff.pause(fraction: 0.5) == .zero)
  }

  @Test("the delay stays within its limit after any number of failures")
  func stays() {
    var backoff = Backoff()
    for _ in 0..<10_000 { backoff.fail() }
    #expect(backoff.pause(fraction: 2) == .seconds(5))
  }
}
