import NIOCore
import NIOEmbedded
import TestWire
import Testing

@testable import Byway

/// A server that stops while its line is interrupted, in virtual time.
@Suite("A server that stops on an interrupted line", .timeLimit(.minutes(1))) struct StoppingLineTests {
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

  private let line: UpstreamOnLine
  private let box: ConnectionBox
  private var rig: LineRig { line.rig }

  init() throws {
    line = try UpstreamOnLine()
    box = ConnectionBox(try #require(line.rig.far.channel))
    box.hold(line.server)
    try line.rig.run(for: .seconds(1))
  }

  private func begin() -> RiggedResponse { line.begin() }

  /// Begins a request whose response is given to the line, and lost there.
  private func beginLostResponse() throws -> RiggedResponse {
    line.answer = .answers(after: .milliseconds(500))
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

  @Test("a PING that the client has not acknowledged is not waited for on an unplugged line") func pingLost() throws {
    rig.isSilent = true
    line.server.session.ping()
    line.server.driver.scheduleTransmit()
    try rig.run(for: .milliseconds(100))
    try rig.unplug()
    let stop = stop()
    try rig.run(for: .seconds(15)) { stop.isOver }
    #expect(try #require(stop.duration) < .milliseconds(50))
    #expect(stop.cut == 0)
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

  /// Stops, which takes the drain time and no longer.
  private func stopAfterDrainTime(cutting count: Int) throws {
    let stop = stop()
    try rig.run(for: .seconds(40)) { stop.isOver }
    let duration = try #require(stop.duration)
    #expect(duration >= .seconds(10) && duration < .milliseconds(10_050))
    #expect(stop.cut == count)
  }

  @Test("a running request on an interrupted line gets the drain time and no more", arguments: [false, true])
  func running(_ isSilent: Bool) throws {
    line.answer = .answers(after: .seconds(60))
    let response = begin()
    try rig.run(for: .seconds(1))
    if isSilent { rig.isSilent = true } else { try rig.unplug() }
    try stopAfterDrainTime(cutting: 1)
    response.cancel()
  }

  @Test("a session that is closing when the drain time ends is aborted") func closing() throws {
    let response = try beginLostResponse()
    try stopAfterDrainTime(cutting: 0)
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
