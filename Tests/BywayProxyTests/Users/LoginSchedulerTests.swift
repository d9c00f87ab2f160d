import Byway
import NIOCore
import Testing

@testable import BywayProxy

/// Logins by password, in virtual time.
@Suite("Scheduling of login checks") struct LoginSchedulerTests {
  private static let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
  private static let right: [UInt8] = [1]

  private func scheduler(_ change: (inout LoginScheduler.Limits) -> Void = { _ in }) -> LoginScheduler {
    var limits = LoginScheduler.Limits()
    change(&limits)
    return LoginScheduler(limits)
  }

  private func check(_ step: LoginScheduler.Step?) -> LoginScheduler.Ticket? {
    if case .check(let ticket) = step { ticket } else { nil }
  }

  /// Asks for a login and completes its check at once.
  @discardableResult
  private func check(
    _ digest: [UInt8], _ user: String?, as name: String = "alice", from peer: String = "here", at now: NIODeadline,
    with scheduler: inout LoginScheduler
  ) -> LoginScheduler.Answer {
    let answer = scheduler.ask(digest, name: name, from: peer, at: now)
    if case .wait(let ticket, _) = answer {
      _ = scheduler.next(at: now)
      scheduler.checked(ticket, user.flatMap { UserName($0) }, at: now)
    }
    return answer
  }

  @Test("a successful login is remembered for ten minutes, and then checked again")
  func memory() throws {
    var scheduler = scheduler()
    let alice = try #require(UserName("alice"))
    check(Self.right, "alice", at: Self.start, with: &scheduler)
    #expect(scheduler.ask(Self.right, name: "alice", from: "there", at: Self.start + .minutes(9)) == .known(alice))
    #expect(scheduler.ask([2], name: "alice", from: "there", at: Self.start) == .wait(2, isNew: true))
    #expect(
      scheduler.ask(Self.right, name: "alice", from: "there", at: Self.start + .minutes(10)) == .wait(3, isNew: true))
  }

  @Test("concurrent requests with the same login wait for one password check")
  func shared() {
    var scheduler = scheduler { $0.waiters = 3 }
    #expect(scheduler.ask(Self.right, name: "alice", from: "here", at: Self.start) == .wait(1, isNew: true))
    for _ in 0..<2 {
      #expect(scheduler.ask(Self.right, name: "alice", from: "here", at: Self.start) == .wait(1, isNew: false))
    }
    #expect(scheduler.ask(Self.right, name: "alice", from: "here", at: Self.start) == .busy)
  }

  @Test("after three wrong passwords each further one causes a pause, doubling up to a minute")
  func pauses() {
    var scheduler = scheduler()
    var now = Self.start
    for attempt in 0..<3 { check([UInt8(attempt)], nil, at: now, with: &scheduler) }
    for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
      let answer = scheduler.ask(Self.right, name: "alice", from: "here", at: now)
      #expect(answer == .paused(.seconds(Int64(expected))))
      now = now + .seconds(Int64(expected))
      check([9], nil, at: now, with: &scheduler)
    }
  }

  @Test("a pause applies to one name from one address, and not to other clients or remembered logins")
  func pausesApart() throws {
    var scheduler = scheduler()
    check(Self.right, "alice", at: Self.start, with: &scheduler)
    for attempt in 0..<6 { check([UInt8(100 + attempt)], nil, at: Self.start, with: &scheduler) }
    #expect(scheduler.ask([7], name: "alice", from: "here", at: Self.start) == .paused(.seconds(1)))
    let alice = try #require(UserName("alice"))
    #expect(scheduler.ask(Self.right, name: "alice", from: "here", at: Self.start) == .known(alice))
    guard case .wait = scheduler.ask([8], name: "alice", from: "there", at: Self.start) else {
      Issue.record("another address is paused")
      return
    }
    guard case .wait = scheduler.ask([9], name: "bob", from: "here", at: Self.start) else {
      Issue.record("another name is paused")
      return
    }
  }

  @Test("a correct password resets the count of wrong ones")
  func forgiven() {
    var scheduler = scheduler()
    for attempt in 0..<2 { check([UInt8(attempt)], nil, at: Self.start, with: &scheduler) }
    check(Self.right, "alice", at: Self.start, with: &scheduler)
    for attempt in 10..<12 { check([UInt8(attempt)], nil, at: Self.start, with: &scheduler) }
    guard case .wait = scheduler.ask([20], name: "alice", from: "here", at: Self.start) else {
      Issue.record("paused too soon")
      return
    }
  }

  @Test("the next password check is for the address that has had the fewest")
  func fair() {
    var scheduler = scheduler { $0.running = 1 }
    var flood: [LoginScheduler.Ticket] = []
    for number in 0..<50 {
      if case .wait(let ticket, _) = scheduler.ask([UInt8(number)], name: "x\(number)", from: "there", at: Self.start) {
        flood.append(ticket)
      }
    }
    let (first, none) = (check(scheduler.next(at: Self.start)), check(scheduler.next(at: Self.start)))
    #expect(first == flood[0] && none == nil)
    guard case .wait(let alice, _) = scheduler.ask([0, 0], name: "alice", from: "here", at: Self.start) else {
      Issue.record("the login of alice does not wait")
      return
    }
    scheduler.checked(flood[0], nil, at: Self.start)
    let second = check(scheduler.next(at: Self.start))
    #expect(second == alice)
    scheduler.checked(alice, nil, at: Self.start)
    let third = check(scheduler.next(at: Self.start))
    #expect(third == flood[1])
  }

  @Test("three of many concurrent wrong passwords for one name are checked, and the others get a pause")
  func pausedInQueue() {
    var scheduler = scheduler { $0.running = 1 }
    for number in 0..<50 { _ = scheduler.ask([UInt8(number)], name: "alice", from: "here", at: Self.start) }
    var checked = 0
    var refused = 0
    while let step = scheduler.next(at: Self.start) {
      switch step {
      case .check(let ticket):
        checked += 1
        scheduler.checked(ticket, nil, at: Self.start)
      case .refuse(_, let pause):
        refused += 1
        #expect(pause == .seconds(1))
      }
    }
    #expect(checked == 3 && refused == 47)
  }

  @Test("an address that has had checks is not starved by new addresses")
  func noStarvation() {
    var scheduler = scheduler { $0.running = 1 }
    func ask(_ number: UInt8, _ peer: String) -> LoginScheduler.Ticket? {
      if case .wait(let ticket, _) = scheduler.ask([number], name: "n\(number)", from: peer, at: Self.start) {
        ticket
      } else {
        nil
      }
    }
    func serve() -> LoginScheduler.Ticket? {
      let ticket = check(scheduler.next(at: Self.start))
      if let ticket { scheduler.checked(ticket, nil, at: Self.start) }
      return ticket
    }
    let first = ask(0, "alice")
    _ = ask(1, "fresh1")
    let served = serve()
    #expect(served == first)
    let second = ask(2, "alice")
    var order: [LoginScheduler.Ticket?] = []
    for number in 3..<13 {
      _ = ask(UInt8(number), "fresh\(number)")
      order.append(serve())
    }
    #expect(order.prefix(4).contains(second), "\(order)")
  }

  @Test("the queue of password checks is limited, per address and in total")
  func bounds() {
    var scheduler = scheduler()
    func fill(_ peer: String, _ first: Int) -> Int {
      (0..<300).count { number in
        let digest = [UInt8(first), UInt8(number & 255), UInt8(number >> 8)]
        return scheduler.ask(digest, name: "\(peer)\(number)", from: peer, at: Self.start) != .busy
      }
    }
    #expect((0..<18).map { fill("peer\($0)", $0) } == Array(repeating: 64, count: 16) + [0, 0])
  }

  @Test("remembered logins and counted failures are limited, and the oldest are dropped")
  func forgetting() {
    var scheduler = scheduler {
      $0.remembered = 2
      $0.counted = 2
    }
    for number in 0..<3 {
      check([UInt8(number)], "alice", at: Self.start + .seconds(Int64(number)), with: &scheduler)
    }
    let now = Self.start + .seconds(3)
    #expect(scheduler.ask([0], name: "alice", from: "here", at: now) == .wait(4, isNew: true))
    for (second, name) in ["a", "b", "c"].enumerated() {
      for attempt in 0..<4 {
        check([50, UInt8(attempt)], nil, as: name, at: now + .milliseconds(Int64(second)), with: &scheduler)
      }
    }
    guard case .wait = scheduler.ask([60], name: "a", from: "here", at: now) else {
      Issue.record("the oldest is still counted")
      return
    }
    guard case .paused = scheduler.ask([60, 1], name: "c", from: "here", at: now) else {
      Issue.record("the latest is not counted")
      return
    }
  }

  @Test("a check without a waiting request is removed without a trace")
  func skipped() {
    var scheduler = scheduler { $0.running = 1 }
    guard case .wait(let first, _) = scheduler.ask([1], name: "a", from: "here", at: Self.start),
      case .wait(let second, _) = scheduler.ask([2], name: "a", from: "here", at: Self.start)
    else {
      Issue.record("the logins do not wait")
      return
    }
    scheduler.skipped(first)
    #expect(check(scheduler.next(at: Self.start)) == second)
    scheduler.skipped(second)
    #expect(check(scheduler.next(at: Self.start)) == nil)
    #expect(scheduler.ask([1], name: "a", from: "here", at: Self.start) == .wait(3, isNew: true))
  }
}
