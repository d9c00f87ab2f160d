import BywayHTTPWire
import NIOCore
import NIOEmbedded
import TestTools
import Testing

@testable import Byway

/// Upstreams with random faults of the far end, in virtual time. A failure contains its seed.
@Suite("Upstreams with random faults", .timeLimit(.minutes(2))) struct UpstreamChaosTests {
  private final class World {
    var random: SeededRandom
    var isCalm = false
    var loop: EmbeddedEventLoop?

    init(_ seed: UInt64) { random = SeededRandom(seed: seed) }

    func opening() -> (UpstreamRig.Opening, after: TimeAmount) {
      if isCalm || random.chance(0.5) { return (.opens, random.time(0...100)) }
      return (UpstreamRig.Opening.allCases.randomElement(using: &random) ?? .opens, random.time(0...3000))
    }

    func answer() -> RiggedOrigin.Answer {
      if isCalm || random.chance(0.8) { return .answers(after: random.time(0...500)) }
      return random.chance(0.5) ? .hangs : .stalls
    }
  }

  private struct Bounds {
    static let patience = TimeAmount.seconds(2)
    static let response = TimeAmount.seconds(6)
    /// The longest life of a request without its own deadline, according to its budget.
    static let longest = patience + .seconds(10) + .nanoseconds(4 * response.nanoseconds) + .seconds(1)
  }

  @Test(
    "with one link and random faults, requests end once and by their deadline, and nothing leaks",
    arguments: UpstreamRig.Framing.allCases, Array(UInt64(1)...24))
  func chaos(_ framing: UpstreamRig.Framing, _ seed: UInt64) async throws {
    try await OwnThread.run { try run(framing, seed) }
  }

  @Test(
    "with several links and random faults, requests end once and by their deadline, and nothing leaks",
    arguments: UpstreamRig.Framing.allCases, Array(UInt64(1)...24))
  func links(_ framing: UpstreamRig.Framing, _ seed: UInt64) async throws {
    try await OwnThread.run { try run(framing, seed, links: 3) }
  }

  private func run(_ framing: UpstreamRig.Framing, _ seed: UInt64, links: Int = 1) throws {
    let world = World(seed)
    let origin = RiggedOrigin(on: { [unowned world] in world.loop }) { [unowned world] in world.answer() }
    let rig = UpstreamRig(
      framing, links: Array(repeating: origin, count: links), patience: Bounds.patience,
      responseTimeout: Bounds.response, maximumConnections: 3)
    world.loop = rig.loop
    rig.streamLimit = [1, 2, 256][Int(seed % 3)]
    rig.opening = { [unowned world] in world.opening() }
    var responses: [RiggedResponse] = []

    func look() {
      for response in responses where !response.isOver && response.answer == nil {
        let end = min(response.deadline ?? .distantFuture, response.begin + Bounds.longest)
        #expect(rig.loop.now <= end + .milliseconds(20), "seed \(seed): a request has outlived its deadline")
      }
    }

    let end = rig.loop.now + .seconds(40)
    while rig.loop.now < end {
      if world.random.chance(0.05) { responses.append(try request(world, rig)) }
      if world.random.chance(0.01) { responses.randomElement(using: &world.random)?.cancel() }
      if world.random.chance(0.01) { disturb(world, rig) }
      try rig.pass()
      if world.random.chance(0.1) { look() }
    }

    // The far end works again, and the upstream does once the last hanging attempt is abandoned.
    world.isCalm = true
    rig.thaw()
    // An endless response would keep its stream.
    for response in responses where response.answer != nil { response.cancel() }
    try rig.run(for: .seconds(20))
    let last = try rig.begin()
    try rig.run(for: .seconds(2)) { last.isOver }
    #expect(last.status == "200", "seed \(seed): \(last.error.debugDescription)")
    try rig.run(for: Bounds.longest)
    look()

    rig.upstream?.shutDown()
    for _ in 0..<10 {
      rig.reset()
      try rig.run(for: .milliseconds(100))
    }
    for response in responses {
      #expect(response.isOver, "seed \(seed): a request never ended")
      #expect(response.endings == (response.isCancelled ? 0 : 1), "seed \(seed)")
      #expect(response.callsAfterEnd == 0, "seed \(seed): called after its end")
    }
    leaveNothing(rig, &responses, last, seed)
  }

  private func leaveNothing(
    _ rig: UpstreamRig, _ responses: inout [RiggedResponse], _ last: RiggedResponse, _ seed: UInt64
  ) {
    weak let upstream = rig.upstream
    for response in responses + [last] { response.request = nil }
    responses = []
    rig.release()
    // Attempts in progress, and pauses.
    rig.loop.advanceTime(by: .minutes(10))
    rig.loop.run()
    #expect(upstream == nil, "seed \(seed): the upstream has leaked")
  }

  private func request(_ world: World, _ rig: UpstreamRig) throws -> RiggedResponse {
    let deadline = world.random.chance(0.5) ? world.random.time(100...15_000) : nil
    return try rig.begin(world.random.chance(0.7) ? .get : .post, deadline: deadline)
  }

  private func disturb(_ world: World, _ rig: UpstreamRig) {
    let index = Int.random(in: 0..<4, using: &world.random)
    switch Int.random(in: 0..<5, using: &world.random) {
    case 0: rig.reset(index)
    case 1: rig.close(index)
    case 2: rig.drain(index)
    case 3: rig.setFrozen(true, index)
    default: rig.thaw()
    }
  }
}

extension SeededRandom {
  fileprivate mutating func chance(_ probability: Double) -> Bool { .random(in: 0..<1, using: &self) < probability }

  fileprivate mutating func time(_ range: ClosedRange<Int64>) -> TimeAmount {
    .milliseconds(.random(in: range, using: &self))
  }
}
