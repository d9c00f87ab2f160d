import Testing

@testable import BywayLineLayer

/// A listener with a session that receives damaged bytes, from noise or from a program that tries other rates.
@Suite("Damaged frames before a new session")
struct DoubtfulDamageTests {
  private static let id = SessionID(session: 5, incarnation: 7)
  private var layer = LineLayer(.listener(incarnation: 7), configuration: .defaults, at: 0)

  init() {
    open(5)
    for _ in 0..<3 { layer.receive([0, 9, 9, 9, 9, 9, 9, 9, 0], at: 2) }
  }

  private mutating func open(_ session: UInt32, incarnation: UInt32 = 7) {
    layer.receive(
      .open(
        version: 1, session: SessionID(session: session, incarnation: incarnation), largestPayload: 2048, window: 8192,
        correction: 0), at: 1)
  }

  @Test("a listener counts damaged frames when the session continues after them")
  mutating func goesOn() {
    #expect(layer.statistics.damagedFrames == 0)
    layer.receive(
      .acknowledgement(Acknowledgement(answer: nil, arrivals: Arrivals(next: 0), window: 8192)), at: 3)
    #expect(layer.statistics.damagedFrames == 3)
    layer.receive(
      .acknowledgement(Acknowledgement(answer: nil, arrivals: Arrivals(next: 0), window: 8192)), at: 4)
    #expect(layer.statistics.damagedFrames == 3)
  }

  @Test("a listener counts damaged frames when the session ends and no other has begun")
  mutating func ends() {
    layer.abort(at: 3)
    #expect(layer.statistics.damagedFrames == 3)
  }

  @Test("if another session begins, a listener ignores earlier damage, which the doctor causes at other rates")
  mutating func another() {
    open(6)
    #expect(layer.statistics.damagedFrames == 0 && layer.statistics.receivedFrames == 2)
    layer.receive(
      .acknowledgement(Acknowledgement(answer: nil, arrivals: Arrivals(next: 0), window: 8192)),
      seal: SessionID(session: 6, incarnation: 7), at: 3)
    #expect(layer.statistics.damagedFrames == 0)
  }

  @Test("if a dialer asks for the listener with OPEN, incarnation 0, a listener does not count the damage before it")
  mutating func question() {
    open(6, incarnation: 0)
    #expect(layer.session?.id == Self.id)
    layer.abort(at: 3)
    #expect(layer.statistics.damagedFrames == 0)
  }

  @Test("if the same OPEN is repeated, a listener still counts the damage before it")
  mutating func again() {
    open(5)
    layer.abort(at: 3)
    #expect(layer.statistics.damagedFrames == 3)
  }

  @Test("a dialer counts damaged frames at once")
  func dialer() {
    var dialer = LineLayer(.dialer, configuration: .defaults, at: 0)
    dialer.receive([0, 9, 9, 9, 9, 9, 9, 9, 0], at: 2)
    #expect(dialer.statistics.damagedFrames == 1)
  }
}
