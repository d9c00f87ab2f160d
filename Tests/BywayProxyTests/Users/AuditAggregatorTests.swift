import Byway
import NIOCore
import Testing

@testable import BywayProxy

/// Events for an audit log, in virtual time.
@Suite("Aggregation of audit events") struct AuditAggregatorTests {
  private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

  private func use(_ name: String, _ device: String = "printer") throws -> AuditAggregator.Use {
    AuditAggregator.Use(name: try #require(UserName(name)), resource: .device(try #require(DeviceName(device))))
  }

  @Test("many requests are logged as one begin and one end, after five minutes without another")
  func usage() throws {
    var aggregator = AuditAggregator()
    let use = try use("alice")
    for second in 0..<100 {
      let now = Self.start + .seconds(Int64(second))
      aggregator.began(use, by: .password, from: "192.0.2.7", at: now)
      aggregator.ended(use, at: now + .milliseconds(10))
    }
    let alice = AuditEvent.User(name: "alice", proof: .password, peer: "192.0.2.7")
    #expect(aggregator.take() == [.began(alice, use.resource)])
    let last = Self.start + .seconds(99) + .milliseconds(10)
    aggregator.timePassed(last + .minutes(5) - .nanoseconds(1))
    #expect(aggregator.take() == [])
    aggregator.timePassed(last + .minutes(5))
    #expect(aggregator.take() == [.ended(alice, use.resource, requests: 100, after: last - Self.start)])
    #expect(aggregator.isEmpty)
    aggregator.began(use, by: .password, from: "192.0.2.7", at: last + .minutes(6))
    #expect(aggregator.take().count == 1)
  }

  @Test("a request that runs for hours counts as use")
  func running() throws {
    var aggregator = AuditAggregator()
    let use = try use("alice")
    aggregator.began(use, by: .header, from: "unix", at: Self.start)
    _ = aggregator.take()
    aggregator.timePassed(Self.start + .hours(5))
    #expect(aggregator.take() == [])
    aggregator.ended(use, at: Self.start + .hours(6))
    aggregator.timePassed(Self.start + .hours(7))
    #expect(aggregator.take().count == 1)
  }

  @Test("repeated refusals are counted, and logged once a minute")
  func refusals() throws {
    var aggregator = AuditAggregator()
    let resource = try use("alice").resource
    for _ in 0..<1000 { aggregator.refused(.wrongLogin, "root", resource, from: "192.0.2.7", at: Self.start) }
    let refused = AuditEvent.Refused(reason: .wrongLogin, name: "root", resource: resource, peer: "192.0.2.7")
    #expect(aggregator.take() == [.refused(refused, times: 1)])
    aggregator.timePassed(Self.start + .seconds(60))
    #expect(aggregator.take() == [.refused(refused, times: 999)])
    aggregator.timePassed(Self.start + .seconds(120))
    #expect(aggregator.take() == [] && aggregator.isEmpty)
  }

  @Test("a flood of different refusals is limited, and does not hide other reasons or addresses")
  func flood() throws {
    var aggregator = AuditAggregator()
    for number in 0..<100_000 {
      aggregator.refused(.nobody, "user\(number)", nil, from: "192.0.2.7", at: Self.start)
    }
    #expect(aggregator.take().count == 9)
    for number in 0..<10_000 {
      aggregator.refused(.nobody, nil, nil, from: "198.51.100.\(number)", at: Self.start)
    }
    #expect(aggregator.take().count < 150)
    for reason in [AuditEvent.Reason.wrongLogin, .noRight] {
      aggregator.refused(reason, "alice", nil, from: "203.0.113.1", at: Self.start)
      let told = AuditEvent.Refused(reason: reason, name: "alice", resource: nil, peer: "203.0.113.1")
      #expect(aggregator.take() == [.refused(told, times: 1)])
    }
    aggregator.timePassed(Self.start + .seconds(60))
    let counts = aggregator.take().compactMap { event in if case .refused(_, let times) = event { times } else { nil } }
    #expect(counts.count < 150 && counts.reduce(0, +) > 109_000)
  }

  @Test("the first devices that a user begins to use are logged one by one, and the others as a number")
  func manyDevices() throws {
    var aggregator = AuditAggregator()
    for number in 0..<3000 {
      aggregator.began(try use("erin", "n\(number)"), by: .password, from: "unix", at: Self.start)
    }
    aggregator.began(try use("alice"), by: .password, from: "unix", at: Self.start)
    #expect(aggregator.take().count == 65)
    aggregator.timePassed(Self.start + .seconds(60))
    #expect(aggregator.take() == [.beganMore(name: "erin", times: 3000 - 64)])
  }

  @Test("an attempted user name stays on one line and is limited in length")
  func names() {
    var aggregator = AuditAggregator()
    aggregator.refused(
      .wrongLogin, "a\u{1B}[2J\nb\u{202E}" + String(repeating: "x", count: 10_000), nil, from: "unix", at: Self.start)
    guard case .refused(let refused, _) = aggregator.take().first, let name = refused.name else {
      Issue.record("no event was reported")
      return
    }
    #expect(name.hasPrefix("a?[2J b?xxx") && name.utf8.count == UserName.maximumLength)
  }

  @Test("the number of active users is limited, and the one idle for longest ends")
  func bounds() throws {
    var limits = AuditAggregator.Limits()
    limits.uses = 2
    var aggregator = AuditAggregator(limits)
    for (second, name) in ["a", "b", "c"].enumerated() {
      aggregator.began(try use(name), by: .certificate, from: "unix", at: Self.start + .seconds(Int64(second)))
    }
    let ended = aggregator.take().compactMap { event -> String? in
      if case .ended(let user, _, _, _) = event { user.name } else { nil }
    }
    #expect(ended == ["a"])
    aggregator.ended(try use("a"), at: Self.start)
    aggregator.close(at: Self.start + .seconds(9))
    #expect(aggregator.take().count == 2)
  }

  @Test("when the log ends, uses that were counted and not yet logged are logged as a number")
  func countedAtTheEnd() throws {
    var aggregator = AuditAggregator()
    for number in 0..<100 {
      aggregator.began(try use("erin", "n\(number)"), by: .password, from: "unix", at: Self.start)
    }
    _ = aggregator.take()
    aggregator.close(at: Self.start + .seconds(1))
    let more = aggregator.take().filter { if case .beganMore = $0 { true } else { false } }
    #expect(more == [.beganMore(name: "erin", times: 36)])
    #expect(aggregator.isEmpty)
  }
}
