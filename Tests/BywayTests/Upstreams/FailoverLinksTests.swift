import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import NIOEmbedded
import Testing

@testable import Byway

/// A device with two links, in virtual time; one or the other is cut, silent or slow.
@Suite("Several links of a device", .timeLimit(.minutes(1))) struct FailoverLinksTests {
  private final class World {
    var loop: EmbeddedEventLoop?
    var answer = RiggedOrigin.Answer.answers(after: .zero)
    private(set) lazy var origins = (0..<2).map { _ in
      RiggedOrigin(on: { [unowned self] in loop }) { [unowned self] in answer }
    }
  }

  private let world = World()

  private func rig(_ framing: UpstreamRig.Framing, patience: TimeAmount = .seconds(10)) -> UpstreamRig {
    let rig = UpstreamRig(framing, links: world.origins, patience: patience)
    world.loop = rig.loop
    return rig
  }

  private func served(_ link: Int) -> Int { world.origins[link].paths.count }

  private func get(_ rig: UpstreamRig, within time: TimeAmount = .seconds(20)) throws -> RiggedResponse {
    let response = try rig.begin()
    try rig.run(for: time) { response.isOver }
    return response
  }

  // MARK: Choice of a link

  @Test("the better link is used, and the other one is not opened", arguments: UpstreamRig.Framing.allCases)
  func better(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    #expect(try get(rig).status == "200")
    try rig.run(for: .minutes(2))
    #expect(rig.dialedLinks == [0] && served(0) == 1)
  }

  @Test("a link that does not open causes no delay", arguments: UpstreamRig.Framing.allCases)
  func refused(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    rig.cut(0)
    let response = try get(rig)
    #expect(response.status == "200" && served(1) == 1)
    #expect(try #require(response.end) - response.begin <= .milliseconds(100))
  }

  @Test(
    "a link that hangs while it opens costs two seconds, and the next time a quarter of a second",
    arguments: UpstreamRig.Framing.allCases, [UpstreamRig.Opening.hangs, .forgotten])
  func hangs(_ framing: UpstreamRig.Framing, _ opening: UpstreamRig.Opening) throws {
    let rig = rig(framing)
    rig.openings[0] = (opening, .zero)
    let response = try get(rig)
    #expect(response.status == "200" && served(1) == 1)
    #expect(try #require(response.end) - response.begin <= .milliseconds(2100))
    try rig.run(for: .seconds(5))
    rig.reset()
    let next = try get(rig)
    #expect(next.status == "200")
    #expect(try #require(next.end) - next.begin <= .milliseconds(350))
  }

  @Test("an open but silent link is abandoned after two seconds, and got no request that cannot be repeated")
  func silent() throws {
    let rig = rig(.http2)
    rig.openings[0] = (.silent, .zero)
    let responses = [try rig.begin(.post), try rig.begin()]
    try rig.run(for: .seconds(20)) { responses.allSatisfy(\.isOver) }
    for response in responses {
      #expect(response.status == "200", "\(response.error.debugDescription)")
      #expect(try #require(response.end) - response.begin <= .milliseconds(2100))
    }
    #expect(served(0) == 0 && served(1) == 2)
  }

  @Test("if no link opens, the error has the reason of each", arguments: UpstreamRig.Framing.allCases)
  func none(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    rig.cut(0)
    rig.cut(1)
    let response = try get(rig)
    #expect(response.end == response.begin + .seconds(10))
    let error = try #require(response.error)
    #expect(error.code == .linkUnavailable && error.processing == .none)
    #expect(error.message.contains("link 0: refused") && error.message.contains("link 1: refused"))
    #expect(rig.dials.count < 60, "\(rig.dials.count)")
  }

  @Test("with a link timeout of zero, each link is tried once", arguments: UpstreamRig.Framing.allCases)
  func impatient(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing, patience: .zero)
    rig.cut(0)
    #expect(try get(rig).status == "200")
    rig.cut(1)
    try rig.run(for: .seconds(1))
    let response = try get(rig)
    #expect(response.error?.code == .linkUnavailable)
    #expect(try #require(response.end) - response.begin <= .milliseconds(100))
  }

  // MARK: Fail-over

  @Test("a repeatable request is repeated on the other link, and one that may have been executed fails")
  func cut() throws {
    let rig = rig(.http2)
    _ = try get(rig)
    world.answer = .hangs
    let requests = [try rig.begin(), try rig.begin(.post)]
    try rig.run(for: .seconds(1))
    world.answer = .answers(after: .zero)
    let cut = rig.loop.now
    rig.cut(0)
    try rig.run(for: .seconds(20)) { requests.allSatisfy(\.isOver) }
    #expect(requests[0].status == "200")
    #expect(try #require(requests[0].end) - cut <= .milliseconds(100))
    #expect(requests[1].error?.code == .linkLost && requests[1].error?.processing == .possible)
    #expect(served(0) == 3 && served(1) == 1)
  }

  @Test(
    "a link that its peer closes during requests is replaced like one that is reset",
    arguments: UpstreamRig.Framing.allCases
  )
  func closed(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    world.answer = .hangs
    let requests = [try rig.begin(), try rig.begin(.post)]
    try rig.run(for: .seconds(1))
    world.answer = .answers(after: .zero)
    let end = rig.loop.now
    rig.close(on: 0)
    try rig.run(for: .seconds(20)) { requests.allSatisfy(\.isOver) }
    #expect(requests[0].status == "200", "\(requests[0].error.debugDescription)")
    #expect(try #require(requests[0].end) - end <= .milliseconds(100))
    #expect(requests[1].error?.processing == .possible)
    #expect(served(1) == 1)
    guard case .down = try #require(rig.upstream?.status).links[0].state else {
      Issue.record("The link is not reported as down.")
      return
    }
  }

  @Test("a link that closes at each request, and one that refuses each, lose no requests")
  func refusing() throws {
    for manner in [RawFarEnd.Manner.goesAway, .resets(.refusedStream)] {
      let rig = rig(.http2)
      rig.rawFarEnds[0] = RawFarEnd(manner)
      let before = served(1)
      for fields in [FieldSection.post, .get, .post] {
        let response = try rig.begin(fields)
        try rig.run(for: .seconds(20)) { response.isOver }
        #expect(response.status == "200", "\(manner): \(response.error.debugDescription)")
        #expect(try #require(response.end) - response.begin <= .milliseconds(200))
      }
      #expect(served(1) - before == 3)
    }
  }

  @Test(
    "a regular restart of the server does not count as a failure of its link", arguments: UpstreamRig.Framing.allCases)
  func restarts(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    for _ in 0..<5 {
      #expect(try get(rig).status == "200")
      rig.drain()
      try rig.run(for: .seconds(1))
    }
    #expect(served(0) == 5 && served(1) == 0)
  }

  @Test("a link is proved by a response, and not by SETTINGS alone")
  func deaf() throws {
    let rig = rig(.http2)
    rig.rawFarEnds[0] = RawFarEnd(.deaf)
    let responses = [try rig.begin(.post), try rig.begin()]
    try rig.run(for: .seconds(40)) { responses.allSatisfy(\.isOver) }
    for response in responses {
      #expect(response.status == "200", "\(response.error.debugDescription)")
      #expect(try #require(response.end) - response.begin <= .milliseconds(2100))
    }
    #expect(rig.rawFarEnds[0]?.requests == 0 && served(1) == 2)
  }

  @Test("over HTTP/1.1, an invalid response loses no repeatable request, and its link is replaced")
  func garbage() throws {
    let rig = rig(.http1)
    rig.rawFarEnds[0] = RawFarEnd(.garbage)
    for _ in 0..<2 {
      #expect(try get(rig).status == "200")
      try rig.run(for: .milliseconds(300))
    }
    #expect(rig.rawFarEnds[0]?.requests == 1 && served(1) == 2)
  }

  @Test("a link that suddenly falls silent is replaced within three seconds, however much was sent on it")
  func silentLoss() throws {
    let rig = rig(.http2)
    _ = try get(rig)
    rig.silence(0)
    let cut = rig.loop.now
    var responses: [RiggedResponse] = []
    try rig.run(for: .seconds(3)) {
      if let response = try? rig.begin() { responses.append(response) }
      return false
    }
    try rig.run(for: .milliseconds(50))
    #expect(responses.count > 200)
    for response in responses {
      #expect(response.status == "200")
      #expect(try #require(response.end) <= max(cut + .seconds(3), response.begin + .milliseconds(100)))
    }
  }

  @Test("a link that takes three seconds to open is awaited, although the lost one opens at once and is silent")
  func slowToOpen() throws {
    let rig = rig(.http2, patience: .seconds(20))
    _ = try get(rig)
    rig.openings[1] = (.opens, after: .seconds(3))
    rig.silence(0)
    let cut = rig.loop.now
    let response = try get(rig)
    #expect(response.status == "200" && served(1) == 1, "\(response.error.debugDescription)")
    #expect(try #require(response.end) - cut <= .milliseconds(5700))
  }

  @Test("a response in progress when its link is cut fails", arguments: UpstreamRig.Framing.allCases)
  func stalls(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    world.answer = .stalls
    let response = try rig.begin()
    try rig.run(for: .seconds(1))
    #expect(response.answer != nil)
    rig.cut(0)
    try rig.run(for: .seconds(1))
    #expect(response.endings == 1 && response.error != nil)
    world.answer = .answers(after: .zero)
    #expect(try get(rig).status == "200")
    #expect(served(1) == 1)
  }

  // MARK: Fail-back

  /// Sends a request every 200 ms.
  private func use(_ rig: UpstreamRig, for time: TimeAmount, until isMet: () -> Bool = { false }) throws {
    let end = rig.loop.now + time
    while rig.loop.now < end, !isMet() {
      let response = try rig.begin()
      try rig.run(for: .milliseconds(200))
      #expect(response.status == "200", "\(response.error.debugDescription)")
    }
  }

  @Test(
    "after a repair the better link takes over within ten seconds, and not before three",
    arguments: UpstreamRig.Framing.allCases, [TimeAmount.milliseconds(500), .seconds(5), .seconds(20)])
  func back(_ framing: UpstreamRig.Framing, _ outage: TimeAmount) throws {
    let rig = rig(framing)
    try use(rig, for: .seconds(1))
    rig.cut(0)
    try use(rig, for: outage)
    let before = (served(0), served(1))
    #expect(before.1 > 0)
    rig.repair(0)
    let repair = rig.loop.now
    try use(rig, for: .seconds(12)) { served(0) > before.0 }
    #expect(rig.loop.now - repair <= .seconds(10))
    if framing == .http2 { #expect(rig.loop.now - repair >= .seconds(3)) }
    // After another second all requests use the better link.
    try use(rig, for: .seconds(1))
    let lesser = served(1)
    try use(rig, for: .seconds(5))
    #expect(served(1) == lesser)
  }

  @Test("exchanges on the other link finish there after the better one has returned")
  func running() throws {
    let rig = rig(.http2)
    rig.cut(0)
    world.answer = .answers(after: .seconds(8))
    let slow = try rig.begin(.post)
    try rig.run(for: .seconds(1))
    world.answer = .answers(after: .zero)
    rig.repair(0)
    try use(rig, for: .seconds(6))
    #expect(served(0) > 0 && rig.connectionCount(on: 1) == 1 && !slow.isOver)
    try rig.run(for: .seconds(3))
    #expect(slow.status == "200")
    #expect(rig.connectionCount(on: 1) == 0)
  }

  @Test("an unstable link does not interrupt the device")
  func flapping() throws {
    let rig = rig(.http2)
    try use(rig, for: .seconds(1))
    var changes = 0
    for _ in 0..<20 {
      rig.cut(0)
      try use(rig, for: .seconds(5))
      rig.repair(0)
      let before = served(0)
      try use(rig, for: .seconds(15))
      if served(0) > before { changes += 1 }
    }
    #expect((1...3).contains(changes), "\(changes)")
    // The link's failures are forgotten when it is stable.
    rig.repair(0)
    let before = served(0)
    try use(rig, for: .minutes(3)) { served(0) > before }
    #expect(served(0) > before)
  }

  @Test("an unused device is not checked for a better link until it is used")
  func idle() throws {
    let rig = rig(.http2)
    rig.cut(0)
    #expect(try get(rig).status == "200")
    try rig.run(for: .minutes(2))
    let dials = rig.dials.count
    try rig.run(for: .minutes(20))
    #expect(rig.dials.count == dials)
    rig.repair(0)
    try use(rig, for: .seconds(5))
    #expect(served(0) > 0)
  }

  @Test("if the other link is lost while the better one is on trial, the better one is used at once")
  func hastened() throws {
    let rig = rig(.http2)
    rig.cut(0)
    #expect(try get(rig).status == "200")
    rig.repair(0)
    try rig.run(for: .seconds(10)) { rig.connectionCount(on: 0) == 1 }
    try rig.run(for: .milliseconds(500))
    rig.cut(1)
    let response = try get(rig)
    #expect(response.status == "200" && served(0) == 1)
    #expect(try #require(response.end) - response.begin <= .milliseconds(100))
    #expect(rig.connectionCount(on: 0) == 1)
  }

  // MARK: Status and shutdown

  @Test("the status has the state of each link with the reason")
  func status() throws {
    let rig = rig(.http2)
    rig.cut(0)
    _ = try get(rig)
    let status = try #require(rig.upstream?.status)
    guard case .open = status.state, case .down(let error) = status.links[0].state, case .up = status.links[1].state
    else {
      Issue.record("\(status)")
      return
    }
    #expect(status.links.map(\.name) == ["link 0", "link 1"])
    #expect(error.message == "refused")
    #expect(status.links[0].counts?.failures == 1 && status.links[1].counts?.openings == 1)
    rig.repair(0)
    try use(rig, for: .seconds(8))
    let later = try #require(rig.upstream?.status)
    guard case .up = later.links[0].state, case .standingBy = later.links[1].state else {
      Issue.record("\(later)")
      return
    }
    #expect(later.links[0].counts?.openings == 1)
  }

  @Test(
    "shutting down ends the search for a better link",
    arguments: [TimeAmount.milliseconds(100), .milliseconds(2500), .seconds(4)])
  func shutDown(_ time: TimeAmount) throws {
    let rig = rig(.http2)
    rig.cut(0)
    _ = try get(rig)
    rig.repair(0)
    try rig.run(for: time)
    rig.upstream?.shutDown()
    try rig.run(for: .seconds(1))
    let dials = rig.dials.count
    #expect(rig.connectionCount == 0)
    try rig.run(for: .minutes(2))
    #expect(rig.dials.count == dials)
  }

  @Test("a link that opens later than another one is closed again")
  func slower() throws {
    let rig = rig(.http2)
    rig.openings[0] = (.opens, .seconds(3))
    #expect(try get(rig).status == "200" && served(1) == 1 && rig.openedCount(on: 0) == 0)
    rig.openings[0] = (.refused, .zero)
    try rig.run(for: .seconds(5)) { rig.openedCount(on: 0) == 1 }
    try rig.run(for: .milliseconds(50))
    #expect(rig.openedCount(on: 0) == 1 && rig.connectionCount(on: 0) == 0 && rig.connectionCount(on: 1) == 1)
  }

  @Test("a better link that opens after the shutdown is closed")
  func openedLate() throws {
    let rig = rig(.http2)
    rig.cut(0)
    _ = try get(rig)
    rig.openings[0] = (.opens, .seconds(3))
    let dials = rig.dialedLinks.count
    try rig.run(for: .seconds(20)) { rig.dialedLinks.count > dials }
    #expect(rig.dialedLinks.last == 0 && rig.connectionCount(on: 0) == 0)
    rig.upstream?.shutDown()
    try rig.run(for: .milliseconds(2900))
    #expect(rig.connectionCount == 0)
    try rig.run(for: .seconds(1))
    #expect(rig.openedCount(on: 0) == 1 && rig.connectionCount == 0)
  }
}
