import Byway
import Testing

@testable import BywayProxy

@Suite("Clients that watch the list of devices") struct WatcherSeatsTests {
  private func user(_ name: String) throws -> RequestUser { .user(try #require(UserName(name)), by: .password) }

  @Test("a user can watch the list at most four times, and may do so again when a client has left")
  func ofOneUser() throws {
    let slots = WatcherSlots()
    let (alice, bob) = (try user("alice"), try user("bob"))
    var taken = (0..<4).compactMap { _ in slots.take(for: alice) }
    #expect(taken.count == 4)
    #expect(slots.take(for: alice) == nil)
    #expect(slots.take(for: bob) != nil)
    taken.removeLast()
    let again = slots.take(for: alice)
    #expect(again != nil && slots.take(for: alice) == nil)
    withExtendedLifetime(taken) {}
  }

  @Test("at most 32 clients without a user watch the list, and none after it has closed")
  func ofAnyone() {
    let slots = WatcherSlots()
    var taken = (0..<32).compactMap { _ in slots.take(for: .anyone) }
    #expect(taken.count == 32)
    #expect(slots.take(for: .anyone) == nil)
    taken.removeLast()
    #expect(slots.take(for: .anyone) != nil)
    slots.close()
    #expect(slots.take(for: .anyone) == nil && taken[0].isClosed)
  }
}
