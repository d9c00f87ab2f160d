import Foundation
import NIOCore
import Testing

@testable import Byway

/// Every state and event as in docs/design/request-life.md, and the budget of a request.
@Suite("States of a request") struct RequestLifeTests {
  private static func seconds(_ time: UInt64) -> NIODeadline { .uptimeNanoseconds(time * 1_000_000_000) }
  private static let lost = BywayError(.linkLost, "lost")
  private static let missing = BywayError(.linkUnavailable, Diagnosis(.noProgram, "missing"))

  private static let states = [
    "waiting for a connection", "waiting for its turn", "on trust", "sent", "answered", "ended",
  ]

  /// An event, its time, and a budget that no other event exhausts.
  private struct Case {
    var budget = RequestLife.Budget(patience: .seconds(60), queueing: .seconds(60), response: .seconds(60))
    let event: RequestLife.Event
    var time: UInt64 = 1
  }

  private static let events: [String: Case] = {
    var cases: [String: Case] = [
      "no connection is open": Case(event: .wait(.connection)),
      "all connections are in use": Case(event: .wait(.turn)),
      "a try to connect failed": Case(event: .connectFailed(lost)),
      "a try to connect failed for good": Case(event: .connectFailed(missing)),
      "the only try to connect failed": Case(event: .connectFailed(lost)),
      "turned away": Case(event: .turnedAway(lost)),
      "put on a connection": Case(event: .sent(isWhole: true)),
      "put on a connection that has not proved itself": Case(event: .sent(isWhole: true, provingTakes: .zero)),
      "taken back before it left": Case(event: .withdrawn),
      "its connection has proved itself": Case(event: .proved),
      "its line has fallen silent": Case(event: .doubted(since: seconds(0), isWhole: true)),
      "its end has come": Case(event: .whole),
      "the attempt failed and may be repeated": Case(event: .attemptFailed(lost, isRepeatable: true)),
      "the attempt failed and may not be repeated": Case(event: .attemptFailed(lost, isRepeatable: false)),
      "the last attempt failed": Case(event: .attemptFailed(lost, isRepeatable: true)),
      "the response began": Case(event: .responseBegan),
      "the response ended": Case(event: .responseEnded),
      "the client has gone": Case(event: .cancelled),
      "some time has passed": Case(event: .time),
      "its patience is over": Case(event: .time, time: 5),
      "its time in the queue is over": Case(event: .time, time: 5),
      "the time for a response is over": Case(event: .time, time: 5),
      "its deadline has passed": Case(event: .time, time: 5),
    ]
    cases["the only try to connect failed"]?.budget.isPatient = false
    cases["the last attempt failed"]?.budget.attempts = 1
    cases["its patience is over"]?.budget.patience = .seconds(5)
    cases["its time in the queue is over"]?.budget.queueing = .seconds(5)
    cases["the time for a response is over"]?.budget.response = .seconds(5)
    cases["its deadline has passed"]?.budget.deadline = seconds(5)
    return cases
  }()

  private static func life(_ state: String, _ budget: RequestLife.Budget) -> RequestLife {
    var life = RequestLife(budget, at: seconds(0))
    func tell(_ event: RequestLife.Event) { _ = life.handle(event, at: seconds(0)) }
    switch state {
    case "waiting for its turn": tell(.wait(.turn))
    case "on trust": tell(.sent(isWhole: true, provingTakes: .zero))
    case "sent": tell(.sent(isWhole: true))
    case "answered":
      tell(.sent(isWhole: true))
      tell(.responseBegan)
    case "ended": tell(.cancelled)
    default: break
    }
    return life
  }

  private static func name(_ state: RequestLife.State) -> String {
    switch state {
    case .waiting(for: .connection, since: _): "waiting for a connection"
    case .waiting(for: .turn, since: _): "waiting for its turn"
    case .onTrust: "on trust"
    case .sent: "sent"
    case .answered: "answered"
    case .ended: "ended"
    }
  }

  /// Returns the table's name of an outcome.
  private static func outcome(from before: String, _ step: RequestLife.Step, to state: RequestLife.State) -> String {
    switch step {
    case .nothing: before == name(state) ? "—" : name(state)
    case .repeat: name(state) == "waiting for a connection" ? "again" : "again, but \(name(state))"
    case .fail: name(state) == "ended" ? "fails" : "fails, but \(name(state))"
    case .release: name(state)
    }
  }

  @Test("every state handles every event as in the table of the documentation") func table() throws {
    let page = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../docs/design/request-life.md")
    let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| ") }
      .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
    #expect(rows.first == ["event"] + Self.states)
    #expect(Set(rows.dropFirst().map { $0[0] }) == Set(Self.events.keys))
    for row in rows.dropFirst() {
      let test = try #require(Self.events[row[0]])
      for (state, expected) in zip(Self.states, row.dropFirst()) {
        var life = Self.life(state, test.budget)
        let step = life.handle(test.event, at: Self.seconds(test.time))
        #expect(Self.outcome(from: state, step, to: life.state) == expected, "\(row[0]), while \(state)")
      }
    }
  }

  @Test("every waiting state has a deadline, at which it ends") func deadlines() throws {
    for state in Self.states {
      var life = Self.life(
        state, RequestLife.Budget(patience: .seconds(7), queueing: .seconds(7), response: .seconds(7)))
      if state == "answered" || state == "ended" {
        #expect(life.nextDeadline == nil)
      } else {
        #expect(life.nextDeadline == Self.seconds(7))
        #expect(Self.isNothing(life.handle(.time, at: Self.seconds(7) - .nanoseconds(1))))
        #expect(!Self.isNothing(life.handle(.time, at: Self.seconds(7))))
        #expect(life.state == .ended)
      }
    }
  }

  @Test("a request on a line that falls silent waits up to the link timeout since it was sent") func doubted() {
    var life = RequestLife(.init(patience: .seconds(5), response: .seconds(60)), at: Self.seconds(0))
    _ = life.handle(.sent(isWhole: true), at: Self.seconds(2))
    _ = life.handle(.doubted(since: Self.seconds(2), isWhole: true), at: Self.seconds(4))
    #expect(life.state == .onTrust(since: Self.seconds(2), isWhole: true) && life.nextDeadline == Self.seconds(5))
    _ = life.handle(.proved, at: Self.seconds(4))
    #expect(life.state == .sent(until: Self.seconds(64)))

    var hasty = RequestLife(.init(patience: .seconds(5), isPatient: false), at: Self.seconds(0))
    _ = hasty.handle(.sent(isWhole: true), at: Self.seconds(2))
    let before = hasty.state
    _ = hasty.handle(.doubted(since: Self.seconds(2), isWhole: true), at: Self.seconds(4))
    #expect(hasty.state == before)
  }

  private static func isNothing(_ step: RequestLife.Step) -> Bool {
    if case .nothing = step { true } else { false }
  }

  @Test("the link timeout limits all waits together, and attempts do not count toward it") func patience() {
    var life = RequestLife(.init(patience: .seconds(5)), at: Self.seconds(0))
    _ = life.handle(.sent(isWhole: true), at: Self.seconds(2))
    _ = life.handle(.attemptFailed(Self.lost, isRepeatable: true), at: Self.seconds(100))
    #expect(life.nextDeadline == Self.seconds(103))
    _ = life.handle(.sent(isWhole: true), at: Self.seconds(101))
    _ = life.handle(.attemptFailed(Self.lost, isRepeatable: true), at: Self.seconds(200))
    #expect(life.nextDeadline == Self.seconds(202))
    guard case .fail(.waited(for: .connection)) = life.handle(.time, at: Self.seconds(202)) else {
      Issue.record("the wait did not end at the link timeout")
      return
    }
    // An earlier attempt may have been processed, whatever is known of the last one.
    #expect(life.processing == .possible)
  }

  @Test("on a connection that is not yet proved, the link timeout continues, extended by the line's own time")
  func trust() {
    var life = RequestLife(.init(patience: .seconds(5), response: .seconds(60)), at: Self.seconds(0))
    _ = life.handle(.sent(isWhole: true, provingTakes: .seconds(3)), at: Self.seconds(1))
    #expect(life.nextDeadline == Self.seconds(8))
    _ = life.handle(.attemptFailed(Self.lost, isRepeatable: true), at: Self.seconds(6))
    #expect(life.nextDeadline == Self.seconds(8))
    _ = life.handle(.sent(isWhole: true, provingTakes: .zero), at: Self.seconds(7))
    _ = life.handle(.proved, at: Self.seconds(7))
    #expect(life.nextDeadline == Self.seconds(67))
  }

  @Test("a request has four attempts, however much of the link timeout is left") func attempts() {
    var life = RequestLife(.init(patience: .seconds(60)), at: Self.seconds(0))
    for attempt in 1...4 {
      _ = life.handle(.sent(isWhole: true), at: Self.seconds(0))
      let step = life.handle(.attemptFailed(Self.lost, isRepeatable: true), at: Self.seconds(0))
      if case .repeat = step { #expect(attempt < 4) } else { #expect(attempt == 4) }
    }
    #expect(life.state == .ended)
  }

  @Test("no attempt starts after the deadline") func deadline() {
    var life = RequestLife(.init(patience: .seconds(60), deadline: Self.seconds(3)), at: Self.seconds(0))
    _ = life.handle(.sent(isWhole: false), at: Self.seconds(0))
    #expect(life.nextDeadline == Self.seconds(3))
    guard case .fail = life.handle(.attemptFailed(Self.lost, isRepeatable: true), at: Self.seconds(3)) else {
      Issue.record("the request was repeated")
      return
    }
  }

  @Test("the response timeout starts at the end of the request, and again with each attempt") func response() {
    var life = RequestLife(.init(patience: .seconds(60), response: .seconds(10)), at: Self.seconds(0))
    _ = life.handle(.sent(isWhole: false), at: Self.seconds(0))
    #expect(life.nextDeadline == .distantFuture)
    _ = life.handle(.whole, at: Self.seconds(30))
    #expect(life.nextDeadline == Self.seconds(40))
    _ = life.handle(.attemptFailed(Self.lost, isRepeatable: true), at: Self.seconds(35))
    _ = life.handle(.sent(isWhole: true), at: Self.seconds(36))
    #expect(life.nextDeadline == Self.seconds(46))
  }

  @Test("the final failure says whether an earlier attempt may have been processed") func processing() {
    for wasSent in [false, true] {
      var life = RequestLife(.init(patience: .seconds(60)), at: Self.seconds(0))
      if wasSent {
        _ = life.handle(.sent(isWhole: true), at: Self.seconds(0))
        _ = life.handle(.attemptFailed(Self.lost, isRepeatable: true), at: Self.seconds(0))
      }
      let failure = BywayError(.cancelled, "shut down", processing: .none)
      guard case .fail(.error(let error)) = life.handle(.turnedAway(failure), at: Self.seconds(1)) else {
        Issue.record("the request has not ended")
        return
      }
      #expect(error.processing == (wasSent ? .possible : .none))
    }
  }

  @Test(
    "a request counts as processed once its response has begun, even if the error says otherwise") func refusedLate()
  {
    var life = RequestLife(.init(patience: .seconds(60)), at: Self.seconds(0))
    _ = life.handle(.sent(isWhole: true), at: Self.seconds(0))
    _ = life.handle(.responseBegan, at: Self.seconds(1))
    let refusal = BywayError(.refused, "not processed", processing: .none)
    guard case .fail(.error(let error)) = life.handle(.attemptFailed(refusal, isRepeatable: true), at: Self.seconds(2))
    else {
      Issue.record("the request is repeated within its response")
      return
    }
    #expect(error.processing == .possible)
  }
}
