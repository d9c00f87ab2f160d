import BywayLineLayer
import NIOCore
import NIOEmbedded
import Testing

@testable import Byway

/// A line whose session carries the connections of one dialer, in virtual time.
@Suite("Shared line") struct SharedLineTests {
  @Test("several connections are streams of one session, which ends with the last of them")
  func sharing() throws {
    let rig = try DialedRig(streams: 4)
    try rig.dial()
    let openings = try [rig.connect(), rig.connect(), rig.connect()]
    for (number, opening) in openings.enumerated() { opening.say("\(number)") }
    try rig.run(for: .milliseconds(20))
    #expect(rig.far.sessions.count == 1 && rig.far.sessions[0]?.received == ["0", "1", "2", ""])
    for opening in openings.prefix(2) { opening.channel?.close(promise: nil) }
    try rig.run(for: .milliseconds(100))
    #expect(rig.far.ends.isEmpty)
    openings[2].channel?.close(promise: nil)
    try rig.run(for: .milliseconds(500))
    #expect(rig.far.ends == [.finished])
    try rig.connect().say("again")
    try rig.run(for: .milliseconds(20))
    #expect(rig.far.sessions.count == 2 && rig.far.sessions[1]?.received[0] == "again")
  }

  @Test("connections that are asked for while the session opens get a stream each")
  func opening() throws {
    let rig = try DialedRig(streams: 2)
    rig.far.isMute = true
    try rig.dial()
    let first = try rig.connect()
    let second = try rig.connect()
    #expect(first.isPending && second.isPending)
    rig.far.isMute = false
    try rig.run(for: .seconds(2))
    #expect(first.channel != nil && second.channel != nil && first.channel !== second.channel)
    #expect(rig.far.sessions.count == 1)
  }

  @Test("a connection beyond the streams waits for one, in the order of arrival")
  func waiting() throws {
    let rig = try DialedRig(streams: 2)
    try rig.dial()
    let (first, second) = try (rig.connect(), rig.connect())
    for opening in [first, second] { opening.say("x") }
    let (third, fourth) = try (rig.connect(), rig.connect())
    #expect(third.isPending && fourth.isPending)
    rig.far.sessions[0]?.finish(0)
    first.channel?.close(promise: nil)
    try rig.run(for: .milliseconds(50))
    #expect(third.channel != nil && fourth.isPending)
    rig.far.sessions[0]?.finish(1)
    second.channel?.close(promise: nil)
    try rig.run(for: .milliseconds(50))
    #expect(fourth.channel != nil && rig.far.sessions.count == 1)
  }

  @Test("a connection that gets no stream in time fails, and leaves its place")
  func late() throws {
    let rig = try DialedRig(streams: 1)
    try rig.dial()
    let first = try rig.connect()
    first.say("x")
    let (late, patient) = try (rig.connect(within: .seconds(1)), rig.connect())
    try rig.run(for: .milliseconds(900))
    #expect(late.isPending)
    try rig.run(for: .milliseconds(200))
    #expect(late.error?.contains("No stream of board:test became free in time") == true, "\(late.error as Any)")
    rig.far.sessions[0]?.finish(0)
    first.channel?.close(promise: nil)
    try rig.run(for: .milliseconds(50))
    #expect(patient.channel != nil)
  }

  @Test("without streams the session belongs to the first connection, and the others fail at once")
  func withoutStreams() throws {
    let rig = try DialedRig(streams: 0)
    rig.far.isMute = true
    try rig.dial()
    let (first, second) = try (rig.connect(), rig.connect())
    rig.far.isMute = false
    try rig.run(for: .seconds(2))
    #expect((first.channel as? StreamChannel)?.streamLimit == nil && first.channel != nil)
    #expect(second.error?.contains("takes one connection at a time") == true, "\(second.error as Any)")
  }

  @Test("if no session opens, all that wait fail with the reason, and the next connection tries again")
  func silent() throws {
    let rig = try DialedRig(streams: 2)
    rig.far.isMute = true
    try rig.dial()
    let (first, second) = try (rig.connect(within: .seconds(60)), rig.connect(within: .seconds(60)))
    try rig.run(for: .seconds(40))
    #expect(first.error?.contains("board:test") == true && first.error == second.error, "\(first.error as Any)")
    rig.far.isMute = false
    let third = try rig.connect()
    try rig.run(for: .seconds(2))
    #expect(third.channel != nil)
  }

  @Test("a connection on another event loop gets a session of its own, without streams")
  func otherLoop() throws {
    let shared = SharedLine()
    let address = try LinkAddress("line:test")
    let offers = Offers()
    let loops = (EmbeddedEventLoop(), EmbeddedEventLoop())
    for loop in [loops.0, loops.1] {
      _ = shared.connect(to: address, on: loop, by: loop.now + .seconds(1)) { offer in
        offers.all.append(offer)
        return loop.makeFailedFuture(BywayError(.linkUnavailable, "closed"))
      }
      loop.run()
    }
    #expect(offers.all.map(\.count) == [16, 0])
  }

  /// `@unchecked Sendable`: used on the test's thread only.
  private final class Offers: @unchecked Sendable {
    var all: [StreamOffer] = []
  }
}

/// A line whose connections the far end dials.
@Suite("Dialed line") struct DialedLineTests {
  @Test("a session continues over the next connection, and its streams with it")
  func resumed() throws {
    let rig = try DialedRig(streams: 4)
    try rig.dial()
    let opening = try rig.connect()
    opening.say("one")
    try rig.run(for: .milliseconds(20))
    rig.hangUp()
    #expect(!rig.line.isConnected && rig.line.hasSession && rig.line.interruption != nil)
    opening.say(" two")
    try rig.run(for: .seconds(20))
    try rig.dial()
    try rig.run(for: .seconds(2))
    #expect(rig.far.sessions.count == 1 && rig.far.sessions[0]?.received[0] == "one two")
    #expect(rig.line.isConnected && rig.line.interruption == nil)
  }

  @Test("a session whose far end does not dial again in 30 s is over, and its owner is told")
  func lost() throws {
    let rig = try DialedRig(streams: 4)
    var ends = 0
    rig.line.ended = { ends += 1 }
    try rig.dial()
    let opening = try rig.connect()
    rig.hangUp()
    #expect(ends == 1)
    try rig.run(for: .seconds(31))
    #expect(ends == 2 && !rig.line.hasSession)
    #expect(opening.reader.events.contains { $0.contains("did not come back in time") }, "\(opening.reader.events)")
  }

  @Test("without a connection no stream opens, and the error says so at once")
  func unconnected() throws {
    let rig = try DialedRig(streams: 4)
    let opening = try rig.connect()
    #expect(opening.error?.contains("board:test is not connected") == true, "\(opening.error as Any)")
    try rig.dial()
    #expect(try rig.connect().channel != nil)
  }

  @Test("a newer connection of the same far end replaces the one before")
  func replaced() throws {
    let rig = try DialedRig(streams: 4)
    try rig.dial()
    try rig.connect().say("one")
    try rig.dial()
    try rig.connect().say("two")
    try rig.run(for: .seconds(1))
    #expect(rig.far.sessions.count == 1 && rig.far.sessions[0]?.received.prefix(2) == ["one", "two"])
  }

  @Test("a line that is closed ends its session and its connection at once")
  func closed() throws {
    let rig = try DialedRig(streams: 4)
    try rig.dial()
    let opening = try rig.connect()
    rig.line.close()
    try rig.run(for: .milliseconds(50))
    #expect(opening.reader.events.last == "inactive" && !rig.isNearOpen && !rig.line.isConnected)
    #expect(rig.far.ends == [.aborted])
  }

  @Test("a session that is ended leaves the connection for the next one")
  func endedSession() throws {
    let rig = try DialedRig(streams: 4)
    try rig.dial()
    let opening = try rig.connect()
    rig.line.endSession()
    try rig.run(for: .milliseconds(50))
    #expect(opening.reader.events.last == "inactive" && rig.isNearOpen)
    #expect(try rig.connect().channel != nil && rig.far.sessions.count == 2)
  }
}
