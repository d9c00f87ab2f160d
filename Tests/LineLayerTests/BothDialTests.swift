import Testing

@testable import BywayLineLayer

/// Two dialers on one line, each with its OPEN under way.
@Suite("Both dial")
struct BothDialTests {
  private var one = LineLayer(.dialer, configuration: .defaults, at: 0)
  private var other = LineLayer(.dialer, configuration: .defaults, at: 0)
  private let fromOne: [UInt8]
  private let fromOther: [UInt8]

  init() {
    one.open(session: 1, at: 0)
    other.open(session: 2, at: 0)
    fromOne = one.transmit(at: 0)
    fromOther = other.transmit(at: 0)
  }

  @Test("they tell each other that one has to listen")
  mutating func both() {
    one.receive(fromOther, at: 1)
    other.receive(fromOne, at: 1)
    #expect(one.takeEvents() == [.ended(.bothDial)])
    #expect(other.takeEvents() == [.ended(.bothDial)])
  }

  @Test("one that only hears of the other knows as well")
  mutating func hears() {
    one.receive(fromOther, at: 1)
    #expect(one.takeEvents() == [.ended(.bothDial)])
  }

  @Test("one that is only told of it knows as well")
  mutating func isTold() {
    other.receive(fromOne, at: 1)
    one.receive(other.transmit(at: 2), at: 2)
    #expect(one.takeEvents() == [.ended(.bothDial)])
  }

  @Test("one that hears itself knows that it does")
  mutating func hearsItself() {
    one.receive(fromOne, at: 1)
    #expect(one.takeEvents() == [.ended(.echo)])
  }
}
