import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Cuts of the line")
struct CutTests {
  @Test(
    "after a cut of five seconds, a transfer completes without loss within 3.5 s",
    arguments: Cut.Kind.allCases, [nil, .a, .b] as [VirtualLink.End?])
  func fiveSeconds(_ kind: Cut.Kind, _ end: VirtualLink.End?) {
    let simulation = Simulation(LineConfiguration(baud: 115_200, batch: .milliseconds(1)), seed: 3)
    simulation.open()
    simulation.run(atMost: 1)
    for end in simulation.ends { end.toSend = 20_000 }
    simulation.run(atMost: 0.7)
    simulation.link.cut(kind, at: end)
    simulation.run(atMost: 5)
    simulation.link.restore()
    let start = simulation.now
    #expect(simulation.run(atMost: 10) { simulation.ends.allSatisfy { $0.received == 20_000 } })
    #expect(simulation.failure == nil)
    #expect(simulation.ends.allSatisfy { $0.events == [.ready, .confirmed] })
    // The rest needs 1.2 s. A question each second finds out that the line is back.
    #expect(Double(simulation.now - start) / 1e9 < 3.5)
  }

  @Test(
    "a cut of sixty seconds ends the session at both ends, and the next OPEN begins a new one",
    arguments: Cut.Kind.allCases)
  func sixtySeconds(_ kind: Cut.Kind) {
    let simulation = Simulation(LineConfiguration(baud: 115_200, batch: .milliseconds(1)), seed: 3)
    simulation.open()
    simulation.run(atMost: 1)
    for end in simulation.ends { end.toSend = 20_000 }
    simulation.run(atMost: 0.7)
    simulation.link.cut(kind)
    simulation.run(atMost: 60)
    for end in simulation.ends { #expect(!end.layer.hasSession) }
    simulation.link.restore()
    simulation.run(atMost: 2)
    simulation.open()
    #expect(
      simulation.run(atMost: 3) { simulation.ends.allSatisfy { $0.events.suffix(2) == [.ready, .confirmed] } })
    for end in simulation.ends { end.toSend = 1000 }
    #expect(simulation.run(atMost: 3) { simulation.ends.allSatisfy { $0.received == 1000 } })
    #expect(simulation.failure == nil)
  }

  @Test("a cut of 20 s on an idle line does not end the session", arguments: [Cut.Kind.stall, .lose])
  func quiet(_ kind: Cut.Kind) {
    let simulation = Simulation(LineConfiguration(baud: 115_200, batch: .milliseconds(1)), seed: 3)
    simulation.open()
    simulation.run(atMost: 1)
    simulation.link.cut(kind)
    simulation.run(atMost: 20)
    simulation.link.restore()
    simulation.run(atMost: 40)
    #expect(simulation.ends.allSatisfy { $0.events == [.ready, .confirmed] })
  }
}
