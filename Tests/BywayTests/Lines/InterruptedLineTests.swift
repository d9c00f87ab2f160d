import NIOCore
import TestWire
import Testing

@testable import Byway

/// Requests while the cable is unplugged, in virtual time.
@Suite("Requests on an unplugged or silent line", .timeLimit(.minutes(1))) struct InterruptedLineTests {
  private let line: UpstreamOnLine
  private var rig: LineRig { line.rig }
  private var upstream: any Upstream { line.upstream }

  init() throws { line = try UpstreamOnLine() }

  private func begin() -> RiggedResponse { line.begin() }

  @Test("a request on an unplugged line fails after the link timeout with the line's state")
  func patience() throws {
    try rig.unplug()
    let response = begin()
    try rig.run(for: .seconds(20)) { response.isOver }
    #expect(response.end == response.begin + .seconds(5))
    #expect(response.error?.code == .linkUnavailable)
    #expect(response.error?.message.contains("The line of serial:test is gone") == true)
  }

  @Test("the status shows since when and why a line is interrupted, until the peer is heard again")
  func status() throws {
    #expect(interruption() == nil)
    let start = rig.loop.now
    rig.near.unavailableReason = "There is no such device."
    try rig.unplug()
    #expect(interruption()?.since == start && interruption()?.reason == "There is no such device.")
    #expect(upstream.status.lastSeen == start)
    try rig.run(for: .seconds(3))
    #expect(interruption()?.since == start)
    try rig.plugIn()
    // The device is back, and no bytes have arrived through it.
    #expect(interruption()?.since == start && interruption()?.reason == nil)
    try rig.run(for: .seconds(2))
    #expect(interruption() == nil && upstream.status.lastSeen == nil)
  }

  private func interruption() -> LineInterruption? {
    if case .interrupted(let interruption) = upstream.status.state { interruption } else { nil }
  }

  /// Loses all bytes while a response is on its way, until this end has detected the silence.
  private func fallSilent(_ answer: RiggedOrigin.Answer = .answers(after: .seconds(2))) throws -> RiggedResponse {
    line.answer = answer
    let running = begin()
    try rig.run(for: .seconds(1))
    rig.isSilent = true
    return running
  }

  @Test("the status at both ends shows a silent line since it was last heard, and up once it is heard again")
  func silence() throws {
    let running = try fallSilent()
    let start = rig.loop.now
    line.answer = .answers(after: .zero)
    let later = begin()
    try rig.run(for: .milliseconds(3300)) { interruption() != nil }
    let found = try #require(interruption())
    #expect(rig.loop.now - start > .milliseconds(2900))
    #expect(found.cause == .silent && found.reason?.contains("answers nothing") == true)
    #expect(found.since <= start && start - found.since < .seconds(2))
    #expect(upstream.status.lastSeen == found.since)
    try rig.run(for: .seconds(1)) { rig.far.channel?.interruption != nil }
    #expect(rig.far.channel?.interruption?.cause == .silent)
    #expect(!running.isOver && !later.isOver)
    rig.isSilent = false
    try rig.run(for: .milliseconds(1300)) { running.isOver && later.isOver }
    #expect(running.status == "200" && later.status == "200")
    #expect(interruption() == nil && upstream.status.lastSeen == nil && rig.far.channel?.interruption == nil)
  }

  @Test(
    "a new request on a silent line fails after the link timeout, and a running one waits longer", arguments: [3, 5])
  func silentPatience(_ seconds: Int64) throws {
    upstream.patience = .seconds(seconds)
    let running = try fallSilent()
    // Sent before the silence is detected, just after that, and long after that.
    for pause in [0, 4, 2] as [Int64] {
      try rig.run(for: .seconds(pause))
      let later = begin()
      try rig.run(for: .seconds(10)) { later.isOver }
      let time = try #require(later.end) - later.begin
      #expect(time >= .seconds(seconds) && time < .milliseconds(max(seconds * 1000, 3200) + 100), "\(pause): \(time)")
      #expect(later.error?.code == .linkUnavailable)
      #expect(later.error?.message == "The line of serial:test is silent: its far end has not answered in time.")
    }
    #expect(!running.isOver)
  }

  @Test("a request sent before a silence survives it up to the grace period")
  func silentGrace() throws {
    let running = try fallSilent()
    try rig.run(for: .seconds(29))
    #expect(!running.isOver && rig.near.ends.isEmpty && rig.far.ends.isEmpty)
    rig.isSilent = false
    try rig.run(for: .seconds(2)) { running.isOver }
    #expect(running.status == "200")
  }

  @Test("a request sent before a silence longer than the grace period fails with one error that says so")
  func silentEnd() throws {
    let running = try fallSilent(.stalls)
    #expect(running.status == "200" && !running.isOver)
    try rig.run(for: .seconds(32)) { running.isOver }
    #expect(rig.near.ends == [.silence])
    #expect(running.error?.code == .linkLost)
    #expect(running.error?.message.contains("has said nothing for too long") == true)
    try rig.run(for: .seconds(2))
    #expect(rig.far.ends == [.silence] && interruption() == nil)
  }

  @Test("a request on an interrupted line succeeds if the line returns in time, however long the response takes")
  func comesBack() throws {
    try rig.unplug()
    line.answer = .answers(after: .seconds(20))
    let response = begin()
    try rig.run(for: .seconds(4))
    try rig.plugIn()
    try rig.run(for: .seconds(30)) { response.isOver }
    #expect(response.status == "200", "\(response.error.debugDescription)")
    #expect(try #require(response.end) - response.begin > .seconds(23))
  }

  @Test("a request sent before an interruption waits for the line's own timeout")
  func sentBefore() throws {
    line.answer = .answers(after: .seconds(1))
    let response = begin()
    try rig.run(for: .milliseconds(500))
    try rig.unplug()
    try rig.run(for: .seconds(20))
    #expect(!response.isOver)
    try rig.plugIn()
    try rig.run(for: .seconds(5)) { response.isOver }
    #expect(response.status == "200")
  }
}
