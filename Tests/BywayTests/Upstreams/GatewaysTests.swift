import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import NIOEmbedded
import Testing

@testable import Byway

/// Several gateways that have dialed under one name, in virtual time.
@Suite("Gateways with the same name", .timeLimit(.minutes(1))) struct GatewaysTests {
  private final class World {
    var loop: EmbeddedEventLoop?
    var answer = RiggedOrigin.Answer.answers(after: .zero)
  }

  private let world = World()

  private func rig(_ sharing: GatewaySharing = .newest) -> UpstreamRig {
    let rig = UpstreamRig(sharing: sharing)
    world.loop = rig.loop
    return rig
  }

  private func origin(_ answer: @escaping () -> RiggedOrigin.Answer) -> RiggedOrigin {
    RiggedOrigin(on: { [unowned world] in world.loop }, answer)
  }

  @Test("each change of the serving gateway counts as another device, including a return to the previous one")
  func identity() throws {
    let rig = rig()
    let origin = origin { .answers(after: .zero) }
    var seen: Set<UInt64> = []
    func look() { if let gateways = rig.gateways { seen.insert(gateways.incarnation) } }
    look()
    try rig.gatewayDials(origin)
    look()
    try rig.run(for: .seconds(1))
    look()
    try rig.gatewayDials(origin)
    look()
    rig.close(on: 1)
    try rig.run(for: .seconds(1))
    look()
    let response = try rig.begin()
    try rig.run(for: .seconds(1)) { response.isOver }
    #expect(response.status == "200")
    look()
    #expect(seen.count == 4, "none, the first, the second, the first again")
  }

  @Test("a gateway that is about to serve again keeps its exchanges when a newer gateway dials")
  func comesBack() throws {
    let rig = rig()
    let download = origin { .stalls }
    try rig.gatewayDials(download)
    let running = try rig.begin()
    try rig.run(for: .milliseconds(100))
    #expect(running.answer != nil)
    let origin = origin { .answers(after: .zero) }
    try rig.gatewayDials(origin)
    rig.setFrozen(true, 0)
    rig.close(on: 1)
    try rig.run(for: .milliseconds(100))
    try rig.gatewayDials(origin)
    rig.setFrozen(false, 0)
    try rig.run(for: .seconds(3))
    #expect(!running.isOver, "\(running.error.debugDescription)")
    // The older gateway still stands by.
    let next = try rig.begin()
    try rig.run(for: .seconds(1)) { next.isOver }
    #expect(next.status == "200" && download.paths.count == 1 && origin.paths.count == 1)
    rig.close(on: 2)
    try rig.run(for: .milliseconds(100))
    _ = try rig.begin()
    try rig.run(for: .milliseconds(100))
    #expect(download.paths.count == 2)
  }

  @Test(
    "with balancing, a gateway that fails requests gets few, and repeatable requests still succeed",
    arguments: [HTTP2ErrorCode.refusedStream, .internalError])
  func failing(_ code: HTTP2ErrorCode) throws {
    let rig = rig(.balanced)
    let good = origin { .answers(after: .milliseconds(50)) }
    let bad = RawFarEnd(.resets(code))
    try rig.gatewayDials(good)
    try rig.gatewayDials(bad)
    for _ in 0..<20 {
      let responses = try (0..<4).map { _ in try rig.begin(code == .refusedStream ? .post : .get) }
      try rig.run(for: .seconds(2)) { responses.allSatisfy(\.isOver) }
      for response in responses { #expect(response.status == "200", "\(response.error.debugDescription)") }
    }
    #expect(good.paths.count == 80)
    #expect((1...8).contains(bad.requests), "\(bad.requests)")
  }

  @Test("with balancing, a gateway that cannot reach its origin gets few requests")
  func withoutOrigin() throws {
    let rig = rig(.balanced)
    let good = origin { .answers(after: .milliseconds(50)) }
    let bad = Unreachable()
    try rig.gatewayDials(good)
    try rig.gatewayDials(bad)
    for _ in 0..<20 {
      let responses = try (0..<4).map { _ in try rig.begin() }
      try rig.run(for: .seconds(2)) { responses.allSatisfy(\.isOver) }
    }
    #expect((1...8).contains(bad.requests), "\(bad.requests)")
    #expect(good.paths.count + bad.requests == 80)
  }

  private final class Unreachable: ExchangeHandler {
    private(set) var requests = 0

    func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
      requests += 1
      sink.fail(BywayError(.originUnavailable, "Nobody listens."))
      return DiscardingRequestSink()
    }
  }

  @Test("a failing gateway rests for a while, serves if there is no other, and gets its share when it recovers")
  func rested() {
    var record = ServiceRecord()
    let start = NIODeadline.uptimeNanoseconds(1)
    record.failed(isRefusal: false, at: start)
    #expect(!record.rests(at: start))
    var rests: [TimeAmount] = []
    var now = start
    for _ in 0..<7 {
      for _ in 0..<10 { record.failed(isRefusal: false, at: now) }
      var end = now
      while record.rests(at: end) { end = end + .milliseconds(500) }
      rests.append(end - now)
      now = end
    }
    #expect(rests == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    #expect(!record.refusesAll)
    for _ in 0..<3 { record.failed(isRefusal: true, at: now) }
    #expect(record.refusesAll)
    record.answered(200, at: now)
    #expect(!record.refusesAll && !record.rests(at: now) && record.hasAnswered)
  }
}
