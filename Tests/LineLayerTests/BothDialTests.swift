import Testing

@testable import BywayLineLayer

/// Two dialers on one line, each with its OPEN under way.
@Suite("Two dialers on one line")
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

  @Test("if both ends dial and both OPEN frames arrive, each session ends with the reason bothDial")
  mutating func both() {
    one.receive(fromOther, at: 1)
    other.receive(fromOne, at: 1)
    #expect(one.takeEvents() == [.ended(.bothDial)])
    #expect(other.takeEvents() == [.ended(.bothDial)])
  }

  @Test("if a dialer receives another dialer's OPEN, its session ends with the reason bothDial")
  mutating func hears() {
    one.receive(fromOther, at: 1)
    #expect(one.takeEvents() == [.ended(.bothDial)])
  }

  @Test("if a dialer receives RESET(both dial), its session ends with the reason bothDial")
  mutating func isTold() {
    other.receive(fromOne, at: 1)
    one.receive(other.transmit(at: 2), at: 2)
    #expect(one.takeEvents() == [.ended(.bothDial)])
  }

  @Test("if a dialer receives its own OPEN, its session ends with the reason echo")
  mutating func hearsItself() {
    one.receive(fromOne, at: 1)
    #expect(one.takeEvents() == [.ended(.echo)])
  }
}
