import HTTPWire
import Logging
import NIOCore
import NIOEmbedded
import TestWire
import Testing

@testable import Byway

/// A server that stops while its line is interrupted, in virtual time.
@Suite("A server that stops on an interrupted line", .timeLimit(.minutes(1))) struct StoppingLineTests {
  private final class Rigged {
    var loop: EmbeddedEventLoop?
    var answer = RiggedOrigin.Answer.answers(after: .zero)
  }

  /// The end of a connection that drains.
  private final class Stop {
    let begin: NIODeadline
    private(set) var end: NIODeadline?
    private(set) var cut: Int?

    init(_ box: ConnectionBox, within time: TimeAmount, on loop: EmbeddedEventLoop) {
      begin = loop.now
      box.drained(by: begin + time).assumeIsolated().whenSuccess { cut in
        self.cut = cut
        self.end = loop.now
      }
    }

    var duration: TimeAmount? { end.map { $0 - begin } }
    var isOver: Bool { end != nil }
  }

  private let rig: LineRig
  private let upstream: any Upstream
  private let rigged = Rigged()
  private let box: ConnectionBox

  init() throws {
    let rig = try LineRig(hasReaders: false)
    self.rig = rig
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let origin = RiggedOrigin(on: { [rigged] in rigged.loop }) { [rigged] in rigged.answer }
    rigged.loop = rig.loop
    let far = try #require(rig.far.channel)
    box = ConnectionBox(far)
    box.hold(
      HTTP2ServerConnection.start(
        on: far, handler: origin, configuration: ServerConfiguration(hop: "far", logger: logger)))
    let near = Unshared(try #require(rig.near.channel))
    let loop = Unshared(rig.loop)
    let dialer = Dialer(name: "serial:test") { _, _ in loop.value.makeSucceededFuture(near.value as any Channel) }
    upstream = HTTP2Upstream(dialer: dialer, on: rig.loop, hop: nil, logger: logger)
    let first = begin()
    try rig.run(for: .seconds(5)) { first.isOver }
    #expect(first.status == "200")
    try rig.run(for: .seconds(1))
  }

  private func begin() -> RiggedResponse {
    let response = RiggedResponse(at: rig.loop.now, deadline: nil, on: rig.loop)
    response.request = upstream.begin(ExchangeHead(fields: .get, isComplete: true), respondingTo: response)
    return response
  }

  /// Begins a request whose response is given to the line, and lost there.
  private func beginLostResponse() throws -> RiggedResponse {
    rigged.answer = .answers(after: .milliseconds(500))
    let response = begin()
    try rig.run(for: .seconds(1)) { box.idleSince == nil }
    try rig.run(for: .seconds(1)) { box.idleSince != nil }
    rig.isSilent = true
    #expect(box.idleSince != nil && !response.isOver)
    return response
  }

  private func stop(within time: TimeAmount = .seconds(10)) -> Stop { Stop(box, within: time, on: rig.loop) }

  @Test("an idle session is not waited for on an unplugged line") func unplugged() throws {
    try rig.unplug()
    let stop = stop()
    try rig.run(for: .seconds(15)) { stop.isOver }
    #expect(try #require(stop.duration) < .milliseconds(50))
    #expect(stop.cut == 0 && rig.far.ends == [.abortedHere])
  }

  @Test("an idle session is not waited for if the line is unplugged before the client has learned of the stop")
  func unpluggedMeanwhile() throws {
    rig.isSilent = true
    let stop = stop()
    try rig.run(for: .milliseconds(500))
    #expect(!stop.isOver)
    try rig.unplug()
    try rig.run(for: .seconds(15)) { stop.isOver }
    #expect(try #require(stop.duration) < .milliseconds(600))
    #expect(stop.cut == 0)
  }

  @Test("an idle session on a line that has fallen silent ends as soon as that is noticed") func silent() throws {
    rig.isSilent = true
    let stop = stop()
    try rig.run(for: .seconds(15)) { stop.isOver }
    #expect(try #require(stop.duration) < .seconds(6))
    #expect(stop.cut == 0)
  }

  @Test("a running request on an interrupted line gets the drain time and no more", arguments: [false, true])
  func running(_ isSilent: Bool) throws {
    rigged.answer = .answers(after: .seconds(60))
    let response = begin()
    try rig.run(for: .seconds(1))
    if isSilent { rig.isSilent = true } else { try rig.unplug() }
    let stop = stop()
    try rig.run(for: .seconds(40)) { stop.isOver }
    let duration = try #require(stop.duration)
    #expect(duration >= .seconds(10) && duration < .milliseconds(10_050))
    #expect(stop.cut == 1)
    response.cancel()
  }

  @Test("a session that is closing when the drain time ends is aborted") func closing() throws {
    let response = try beginLostResponse()
    let stop = stop()
    try rig.run(for: .seconds(40)) { stop.isOver }
    let duration = try #require(stop.duration)
    #expect(duration >= .seconds(10) && duration < .milliseconds(10_050))
    #expect(stop.cut == 0)
    response.cancel()
  }

  @Test("a response that the client lacks is delivered if the line is back in time") func late() throws {
    let response = try beginLostResponse()
    let stop = stop()
    try rig.run(for: .seconds(6))
    #expect(!stop.isOver && !response.isOver)
    rig.isSilent = false
    try rig.run(for: .seconds(10)) { stop.isOver }
    #expect(response.status == "200" && response.error == nil)
    #expect(stop.cut == 0)
    #expect(try #require(stop.duration) < .seconds(10))
  }

  @Test("a session on a working line ends as soon as the client has learned of the stop") func working() throws {
    let stop = stop()
    try rig.run(for: .seconds(10)) { stop.isOver }
    #expect(try #require(stop.duration) < .seconds(1))
    #expect(stop.cut == 0)
  }
}
