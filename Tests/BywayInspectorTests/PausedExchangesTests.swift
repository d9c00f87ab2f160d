import NIOCore
import Testing

@testable import BywayInspector

/// The exchanges that wait at breakpoints, in virtual time.
@Suite("Paused exchanges") struct PausedExchangesTests {
  private typealias Pauses = PausedExchanges<String>

  private static func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(1_000_000_000) + .seconds(seconds) }

  private func watched(_ limits: Pauses.Limits = .init()) -> Pauses {
    var pauses = Pauses(limits: limits)
    pauses.watcherCame()
    return pauses
  }

  private func ending(_ pauses: inout Pauses, _ id: Int) -> String? {
    switch pauses.collect(id) {
    case .decided(let decision)?: decision
    case .expired?: "expired"
    case .unwatched?: "unwatched"
    case .released?: "released"
    case .left?: "left"
    case nil: nil
    }
  }

  @Test("a pause ends by the first decision, and a second one is refused")
  func decided() throws {
    var pauses = watched()
    #expect(pauses.pause(at: Self.at(0)) == .paused(id: 1, until: Self.at(60)))
    #expect(ending(&pauses, 1) == nil)
    try pauses.decide(1, as: "a")
    #expect(throws: Pauses.Refusal.ended) { try pauses.decide(1, as: "b") }
    pauses.leave(1)
    pauses.expire(at: Self.at(100))
    #expect(ending(&pauses, 1) == "a" && ending(&pauses, 1) == nil)
    #expect(throws: Pauses.Refusal.ended) { try pauses.decide(1, as: "b") }
    for id in [0, 2, -1, .max] { #expect(throws: Pauses.Refusal.unknown) { try pauses.decide(id, as: "b") } }
    #expect(pauses.ids == [] && pauses.nextDeadline == nil)
  }

  @Test("a pause ends at its own deadline, not before, and later ones go on")
  func expired() {
    var pauses = watched()
    _ = pauses.pause(at: Self.at(0))
    _ = pauses.pause(at: Self.at(5))
    #expect(pauses.nextDeadline == Self.at(60))
    pauses.expire(at: Self.at(60) - .nanoseconds(1))
    #expect(pauses.ids == [1, 2])
    pauses.expire(at: Self.at(60))
    #expect(pauses.ids == [2] && ending(&pauses, 1) == "expired" && ending(&pauses, 2) == nil)
    #expect(pauses.nextDeadline == Self.at(65))
  }

  @Test("a client that leaves ends its pause only")
  func left() {
    var pauses = watched()
    for _ in 0..<2 { _ = pauses.pause(at: Self.at(0)) }
    pauses.leave(1)
    pauses.leave(7)
    #expect(pauses.ids == [2] && ending(&pauses, 1) == "left" && ending(&pauses, 2) == nil)
  }

  @Test("at most 16 exchanges wait, and an ended one makes room")
  func full() throws {
    var pauses = watched()
    for id in 1...16 { #expect(pauses.pause(at: Self.at(0)) == .paused(id: id, until: Self.at(60))) }
    #expect(pauses.pause(at: Self.at(0)) == .full)
    try pauses.decide(3, as: "a")
    // Its task has not collected the ending yet.
    #expect(pauses.pause(at: Self.at(1)) == .paused(id: 17, until: Self.at(61)))
    #expect(pauses.pause(at: Self.at(1)) == .full)
  }

  @Test("without a page, pauses end after the grace, and new exchanges pass")
  func unwatched() {
    var pauses = Pauses()
    #expect(pauses.pause(at: Self.at(0)) == .unwatched)
    pauses.watcherCame()
    pauses.watcherCame()
    _ = pauses.pause(at: Self.at(0))
    pauses.watcherLeft(at: Self.at(1))
    #expect(pauses.nextDeadline == Self.at(60))
    pauses.watcherLeft(at: Self.at(2))
    #expect(pauses.nextDeadline == Self.at(12))
    pauses.expire(at: Self.at(12) - .nanoseconds(1))
    #expect(pauses.ids == [1] && pauses.pause(at: Self.at(11)) == .paused(id: 2, until: Self.at(71)))
    pauses.expire(at: Self.at(12))
    #expect(pauses.ids == [] && ending(&pauses, 1) == "unwatched" && ending(&pauses, 2) == "unwatched")
    #expect(pauses.pause(at: Self.at(12)) == .unwatched)
  }

  @Test("a page that returns within the grace keeps the pauses until their deadlines")
  func returned() {
    var pauses = watched()
    _ = pauses.pause(at: Self.at(0))
    pauses.watcherLeft(at: Self.at(55))
    // The deadline comes before the end of the grace.
    #expect(pauses.nextDeadline == Self.at(60))
    pauses.watcherCame()
    pauses.expire(at: Self.at(59))
    #expect(pauses.ids == [1])
    pauses.expire(at: Self.at(60))
    #expect(ending(&pauses, 1) == "expired")
  }

  @Test("an action without a page counts as presence for the grace, and does not end that of a page")
  func acted() {
    var pauses = Pauses()
    pauses.acted(at: Self.at(0))
    _ = pauses.pause(at: Self.at(0))
    #expect(pauses.nextDeadline == Self.at(10))
    pauses.acted(at: Self.at(8))
    #expect(pauses.nextDeadline == Self.at(18))
    pauses.watcherCame()
    pauses.acted(at: Self.at(9))
    #expect(pauses.nextDeadline == Self.at(60))
  }

  @Test("memory pressure ends the oldest pause first")
  func released() {
    var pauses = watched()
    for _ in 0..<2 { _ = pauses.pause(at: Self.at(0)) }
    #expect(pauses.releaseOldest() == 1 && pauses.releaseOldest() == 2 && pauses.releaseOldest() == nil)
    #expect(ending(&pauses, 1) == "released" && ending(&pauses, 2) == "released")
  }
}
