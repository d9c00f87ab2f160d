import BywayLineEmulation
import Testing

@testable import BywayLineLayer

/// Cuts in the middle of a transfer, as both ends notice them.
@Suite("Cuts during a transfer")
struct SilentLineTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let kind: Cut.Kind
    /// The end that sends.
    let sender: VirtualLink.End
    var testDescription: String { "\(kind), \(sender == .a ? "the dialer" : "the listener") sends" }
  }

  static let cases = [Cut.Kind.hangUp, .lose, .stall].flatMap { kind in
    [VirtualLink.End.a, .b].map { Case(kind: kind, sender: $0) }
  }

  private static let size = 30_000

  /// A transfer at 115,200 baud that is cut after a second.
  private func cutTransfer(_ cut: Case) throws -> (Simulation, sender: Simulation.End, receiver: Simulation.End) {
    let simulation = Simulation(LineConfiguration(baud: 115_200, batch: .milliseconds(1)), seed: 5)
    simulation.open()
    simulation.run(atMost: 2)
    let sender = try #require(simulation.ends.first { $0.name == cut.sender })
    let receiver = try #require(simulation.ends.first { $0.name != cut.sender })
    sender.toSend = Self.size
    simulation.run(atMost: 1)
    #expect(receiver.received > 5000 && receiver.received < 15_000)
    simulation.link.cut(cut.kind)
    return (simulation, sender, receiver)
  }

  private func seconds(from start: UInt64, to end: UInt64) -> Double { (Double(end) - Double(start)) / 1e9 }

  @Test(
    "if a cut is shorter than the grace time, the transfer resumes with the right bytes", arguments: cases,
    [14.0, 28.5])
  func shorter(_ cut: Case, _ length: Double) throws {
    let (simulation, sender, receiver) = try cutTransfer(cut)
    let start = simulation.now
    simulation.run(atMost: length)
    simulation.link.restore()
    let end = simulation.now
    #expect(simulation.run(atMost: 5) { receiver.received == Self.size })
    #expect(seconds(from: end, to: simulation.now) < 3.5)
    #expect(simulation.failure == nil)
    simulation.run(atMost: 5)
    for (tested, limit) in [(sender, 3.3), (receiver, 4.3)] {
      #expect(tested.events == [.ready, .confirmed])
      try #require(tested.interruptions.count == 1)
      let interruption = tested.interruptions[0]
      let told = seconds(from: start, to: interruption.began)
      let since = seconds(from: start, to: interruption.kind.since)
      if case .lost = interruption.kind {
        #expect(cut.kind == .hangUp && told < 0.01 && since == told)
      } else {
        #expect(cut.kind != .hangUp && told > 2.9 && told < limit, "\(told)")
        #expect(since > -0.1 && since < 0.1, "\(since)")
      }
      let resumed = try #require(interruption.ended)
      #expect(seconds(from: end, to: resumed) < 1.3)
      #expect(tested.layer.statistics.resumes == 1 && tested.layer.interruption == nil)
    }
  }

  @Test("if a cut is longer than the grace time, the session ends at both ends soon after it", arguments: cases)
  func longer(_ cut: Case) throws {
    let (simulation, sender, receiver) = try cutTransfer(cut)
    simulation.run(atMost: 29.5)
    #expect(simulation.ends.allSatisfy { $0.layer.hasSession })
    simulation.run(atMost: 2)
    let reason = cut.kind == .hangUp ? SessionEnd.lineLost : .silence
    #expect(sender.events == [.ready, .confirmed, .ended(reason)])
    #expect(receiver.events == [.ready, .confirmed, .ended(reason)])
    simulation.link.restore()
    simulation.run(atMost: 5)
    #expect(simulation.failure == nil)
    #expect(simulation.ends.allSatisfy { !$0.layer.hasSession && $0.interruptions.count == 1 })
  }

  @Test("if a line falls silent and is then lost, both ends report one interruption")
  func both() throws {
    let (simulation, sender, _) = try cutTransfer(Case(kind: .lose, sender: .a))
    simulation.run(atMost: 20)
    let since = try #require(sender.layer.interruption?.since)
    simulation.link.restore()
    simulation.link.cut(.hangUp)
    simulation.run(atMost: 1)
    #expect(sender.layer.interruption?.since == since && sender.interruptions.count == 1)
    simulation.run(atMost: 20)
    simulation.link.restore()
    #expect(simulation.run(atMost: 5) { simulation.listener.received == Self.size })
    #expect(sender.events == [.ready, .confirmed] && sender.layer.interruption == nil)
  }

  @Test("if a transfer falls silent, the receiver asks for it only once")
  func askedOnce() throws {
    let simulation = Simulation(LineConfiguration(baud: 115_200, batch: .milliseconds(1)), seed: 5)
    simulation.open()
    simulation.run(atMost: 2)
    simulation.listener.toSend = 1000
    simulation.run(atMost: 0.9)
    let before = simulation.ends.map(\.layer.statistics.sentFrames)
    simulation.run(atMost: 8)
    // A question and its answer.
    for (end, earlier) in zip(simulation.ends, before) { #expect(end.layer.statistics.sentFrames - earlier == 1) }
  }

  struct Slow: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let baud: Int
    var flips = 0.0
    var isPaced = true
  }

  static let slow = [
    Slow(testDescription: "300 baud, where a frame takes two seconds", baud: 300),
    Slow(testDescription: "1200 baud", baud: 1200), Slow(testDescription: "9600 baud", baud: 9600),
    Slow(testDescription: "9600 baud that are not known", baud: 9600, isPaced: false),
    Slow(testDescription: "9600 baud, three bytes in 1000 wrong", baud: 9600, flips: 3e-3 / 8),
    Slow(testDescription: "115,200 baud, three bytes in 1000 wrong", baud: 115_200, flips: 3e-3 / 8),
    Slow(testDescription: "115,200 baud, one byte in 100 wrong", baud: 115_200, flips: 1e-2 / 8),
  ]

  @Test("on a slow or bad line with a live peer, no interruption is reported", arguments: slow)
  func noFalseAlarm(_ slow: Slow) {
    let line = LineConfiguration(baud: slow.baud, batch: .milliseconds(1), faults: [BitFlips(rate: slow.flips)])
    var configuration = LineLayerConfiguration()
    if slow.isPaced { configuration.bytesPerSecond = slow.baud / 10 }
    let simulation = Simulation(line, configuration: configuration, seed: 11)
    simulation.open()
    simulation.run(atMost: 20) { simulation.dialer.events.contains(.confirmed) }
    for end in simulation.ends { end.toSend = slow.baud / 10 * 30 }
    simulation.run(atMost: 120)
    // Now quiet, but for a message now and then.
    for _ in 0..<10 {
      for end in simulation.ends { end.toSend += 40 }
      simulation.run(atMost: 7)
    }
    #expect(simulation.failure == nil)
    for end in simulation.ends {
      #expect(end.received > slow.baud / 10 * 10)
      #expect(end.interruptions.isEmpty && end.events == [.ready, .confirmed], "\(end.interruptions)")
    }
  }

  @Test("if a live peer does not read, no interruption is reported")
  func unread() {
    let simulation = Simulation(LineConfiguration(baud: 115_200, batch: .milliseconds(1)), seed: 5)
    simulation.open()
    simulation.run(atMost: 1)
    simulation.listener.reads = false
    simulation.dialer.toSend = 1_000_000
    simulation.run(atMost: 120)
    let left = simulation.configuration.window - simulation.listener.received
    #expect((0..<Unit.size).contains(left))
    #expect(simulation.ends.allSatisfy { $0.interruptions.isEmpty && $0.layer.hasSession })
  }
}
