import NIOCore
import TestTools
import Testing

@testable import Byway

/// Times at which dialing gateways return, in virtual time.
@Suite("Dialing again") struct RedialTests {
  /// Returns the times, in tenths of a second, at which devices reach a hub that was lost, after the given number of failures.
  private func arrivals(
    of count: Int, after life: TimeAmount, failures: Int = 0, _ redial: Redial, _ random: inout SeededRandom
  ) -> [Int64] {
    (0..<count).map { _ in
      var redial = redial
      redial.lost(after: life)
      var time = redial.pause(fraction: .random(in: 0...1, using: &random))
      for _ in 0..<failures {
        redial.failed()
        time = time + redial.pause(fraction: .random(in: 0...1, using: &random))
      }
      return time.nanoseconds / 100_000_000
    }
  }

  /// Returns the largest number of arrivals within a tenth of a second.
  private func peak(_ arrivals: [Int64]) -> Int {
    Dictionary(grouping: arrivals) { $0 }.values.map(\.count).max() ?? 0
  }

  @Test("after the loss of a hub, dialers over a network spread their attempts over a second")
  func spread() {
    var random = SeededRandom(seed: 7)
    for life in [TimeAmount.minutes(5), .seconds(3)] {
      let times = arrivals(of: 300, after: life, Redial(crossesNetwork: true), &random)
      #expect(peak(times) < 60, "\(times)")
      #expect(times.allSatisfy { $0 <= 20 })
    }
    let later = arrivals(of: 300, after: .minutes(5), failures: 3, Redial(crossesNetwork: true), &random)
    #expect(peak(later) < 30, "\(later)")
  }

  @Test("the jitter option sets the spread of attempts, and may be zero")
  func told() throws {
    var random = SeededRandom(seed: 8)
    let address = try LinkAddress("tls://hub:7000?open=dial&jitter=30")
    let slow = Redial(crossesNetwork: true, jitter: try address.jitter())
    #expect(peak(arrivals(of: 30_000, after: .minutes(5), slow, &random)) < 150)
    let quick = Redial(crossesNetwork: true, jitter: .zero)
    #expect(arrivals(of: 10, after: .minutes(5), quick, &random) == Array(repeating: 0, count: 10))
  }

  @Test("a local socket is dialed at once after the loss of a good link")
  func local() {
    var redial = Redial(crossesNetwork: false)
    redial.lost(after: .minutes(1))
    #expect(redial.pause(fraction: 1) == .zero)
    redial.failed()
    #expect(redial.pause(fraction: 1) == .milliseconds(100))
  }

  @Test("a hub that refuses a link is dialed again after at most 30 s, and one that is unreachable after 10 s")
  func refused() {
    var redial = Redial(crossesNetwork: true, jitter: .zero)
    redial.lost(after: .hours(1), isRefused: true)
    #expect(redial.pause(fraction: 1) == .seconds(1))
    for _ in 0..<10 { redial.lost(after: .milliseconds(20), isRefused: true) }
    #expect(redial.pause(fraction: 1) == .seconds(30))
    redial.failed()
    #expect(redial.pause(fraction: 1) == .seconds(10))
    redial.lost(after: .milliseconds(20), isRefused: true)
    redial.lost(after: .milliseconds(20))
    #expect(redial.pause(fraction: 1) == .seconds(10))
    var local = Redial(crossesNetwork: false)
    for _ in 0..<10 { local.lost(after: .zero, isRefused: true) }
    #expect(local.pause(fraction: 1) == .seconds(5))
  }

  @Test("after an outage of any length, a network address is tried again within ten seconds")
  func bounded() {
    var redial = Redial(crossesNetwork: true)
    redial.lost(after: .minutes(1))
    for _ in 0..<1000 { redial.failed() }
    #expect(redial.pause(fraction: 1) == .seconds(10) && redial.pause(fraction: 0) == .seconds(5))
    redial.lost(after: .minutes(1))
    #expect(redial.pause(fraction: 0) == .zero)
  }
}
