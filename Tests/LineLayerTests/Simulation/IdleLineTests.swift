import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Idle lines")
struct IdleLineTests {
  @Test("an idle line carries at most 30 bytes in 10 seconds in each direction", arguments: [nil, 11_520] as [Int?])
  func quiet(_ rate: Int?) {
    var configuration = LineLayerConfiguration.defaults
    configuration.bytesPerSecond = rate
    let simulation = Simulation(LineConfiguration(), configuration: configuration, seed: 1)
    simulation.open()
    simulation.run(atMost: 2)
    let before = simulation.ends.map(\.layer.statistics.sentBytes)
    simulation.run(atMost: 1000)
    for (end, earlier) in zip(simulation.ends, before) {
      #expect(end.layer.statistics.sentBytes - earlier <= 3000)
      #expect(end.layer.hasSession)
    }
  }

  @Test("an idle session wakes its owner at most 12 times in 100 seconds")
  func wakeUps() {
    var dialer = LineLayer(.dialer, configuration: .defaults, at: 0)
    dialer.receive(.hello(version: 1, incarnation: 7, largestPayload: 2048), at: 0)
    dialer.open(session: 1, at: 0)
    _ = dialer.transmit(at: 0)
    let id = SessionID(session: 1, incarnation: 7)
    let report = Acknowledgement(answer: nil, arrivals: Arrivals(next: 0), window: 100)
    dialer.receive(.acknowledgement(report), seal: id, at: 1)
    var now: UInt64 = 1
    var wakeUps = 0
    while let next = dialer.nextDeadline, next < 100_000_000_000 {
      #expect(next > now)
      now = next
      wakeUps += 1
      dialer.handleTimeout(at: now)
      for frame in dialer.sentFrames(at: now) {
        guard case .poll(_, let token) = frame else { continue }
        var answer = report
        answer.answer = .init(token: token, delay: 0)
        dialer.receive(.acknowledgement(answer), at: now)
      }
    }
    #expect((9...12).contains(wakeUps))
  }
}
