import BywayHTTPWire
import Logging
import NIOCore
import NIOEmbedded
import TestWire
import Testing

@testable import Byway

/// A device with two lines, in virtual time; the better one is unplugged or silent.
@Suite("Serial line as one of several links", .timeLimit(.minutes(1))) struct LineFailoverTests {
  private final class World {
    var loop: EmbeddedEventLoop?
    var answer = RiggedOrigin.Answer.answers(after: .zero)
    /// The channels of the better line; a dialer gets each one once.
    var channels: [(any Channel)?] = []

    func origin() -> RiggedOrigin {
      RiggedOrigin(on: { [unowned self] in loop }) { [unowned self] in answer }
    }
  }

  private let world = World()
  private let rigs: [LineRig]
  private let origins: [RiggedOrigin]
  private let upstream: any Upstream

  private var loop: EmbeddedEventLoop { rigs[0].loop }

  init() throws {
    let first = try LineRig(hasReaders: false)
    rigs = [first, try LineRig(hasReaders: false, on: first.loop)]
    world.loop = first.loop
    origins = [world.origin(), world.origin()]
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    for (rig, origin) in zip(rigs, origins) {
      _ = HTTP2ServerConnection.start(
        on: try #require(rig.far.channel), handler: origin,
        configuration: ServerConfiguration(hop: "far", logger: logger))
    }
    world.channels = rigs.map(\.near.channel)
    let (world, loop) = (Unshared(world), Unshared(first.loop))
    let dialers = rigs.indices.map { link in
      Dialer(name: "line \(link)") { _, _ in
        guard let channel = world.value.channels[link].take() else {
          return loop.value.makeFailedFuture(BywayError(.linkUnavailable, "gone", processing: .none))
        }
        return loop.value.makeSucceededFuture(channel)
      }
    }
    var configuration = HTTP2Upstream.Configuration.defaults
    configuration.http2 = .init(liveness: .ofServer, hasOtherLinks: true)
    upstream = HTTP2Upstream(links: dialers, on: first.loop, hop: nil, configuration: configuration, logger: logger)
    let warm = begin()
    try run(for: .seconds(5)) { warm.isOver }
    #expect(warm.status == "200" && origins[0].paths.count == 1)
  }

  private func run(for time: TimeAmount, until isMet: () -> Bool = { false }) throws {
    let end = loop.now + time
    while loop.now < end, !isMet() {
      for rig in rigs { try rig.pass() }
      loop.advanceTime(by: .milliseconds(1))
    }
  }

  private func begin(_ fields: FieldSection = .get) -> RiggedResponse {
    let response = RiggedResponse(at: loop.now, deadline: nil, on: loop)
    response.request = upstream.begin(ExchangeHead(fields: fields, isComplete: true), respondingTo: response)
    return response
  }

  @Test("an unplugged line is replaced by the other link after 1 s, and no request is executed twice")
  func unplugged() throws {
    world.answer = .hangs
    let running = [begin(), begin(.post)]
    try run(for: .milliseconds(500))
    world.answer = .answers(after: .zero)
    let cut = loop.now
    try rigs[0].unplug()
    try run(for: .milliseconds(300))
    // The request waits, because the line may return at once.
    let late = begin(.post)
    try run(for: .seconds(10)) { late.isOver && running.allSatisfy(\.isOver) }
    #expect(running[0].status == "200" && late.status == "200")
    #expect(running[1].error?.code == .linkLost && running[1].error?.processing == .possible)
    for response in [running[0], late] { #expect(try #require(response.end) - cut <= .milliseconds(1300)) }
    #expect(origins[1].paths.count == 2)
    // Bytes not yet sent on the first line are not sent later.
    let before = origins[0].paths.count
    try rigs[0].plugIn()
    try run(for: .seconds(5))
    #expect(origins[0].paths.count == before)
  }

  @Test("a line that returns within 1 s keeps its requests")
  func glitch() throws {
    world.answer = .answers(after: .seconds(1))
    let running = begin(.post)
    try run(for: .milliseconds(500))
    try rigs[0].unplug()
    let late = begin(.post)
    try run(for: .milliseconds(700))
    try rigs[0].plugIn()
    try run(for: .seconds(5)) { running.isOver && late.isOver }
    #expect(running.status == "200" && late.status == "200")
    #expect(origins[0].paths.count == 3 && origins[1].paths.isEmpty)
  }

  @Test("a silent line is replaced within 3 s, and requests that may have been executed are not repeated")
  func silent() throws {
    let cut = loop.now
    rigs[0].isSilent = true
    let requests = [begin(), begin(.post)]
    try run(for: .seconds(10)) { requests.allSatisfy(\.isOver) }
    #expect(requests[0].status == "200")
    #expect(requests[1].error?.code == .linkLost && requests[1].error?.processing == .possible)
    for response in requests { #expect(try #require(response.end) - cut <= .seconds(3)) }
  }

  @Test("a slow line stays in use as long as its peer responds")
  func slow() throws {
    world.answer = .answers(after: .seconds(20))
    let response = begin()
    try run(for: .seconds(30)) { response.isOver }
    #expect(response.status == "200" && origins[1].paths.isEmpty)
  }
}
