import BywayHTTPWire
import NIOCore
import NIOEmbedded
import Testing

@testable import Byway

/// Waits of exchanges for connections that do not open, end at once or are lost, in virtual time.
@Suite("Upstreams without a connection", .timeLimit(.minutes(1))) struct UpstreamTests {
  private final class Box {
    var loop: EmbeddedEventLoop?
    var answer = RiggedOrigin.Answer.answers(after: .zero)
  }

  private let box = Box()

  private func rig(
    _ framing: UpstreamRig.Framing, patience: TimeAmount = .seconds(5), maximumConnections: Int = 4
  ) -> UpstreamRig {
    let origin = RiggedOrigin(on: { [box] in box.loop }) { [box] in box.answer }
    let rig = UpstreamRig(framing, origin: origin, patience: patience, maximumConnections: maximumConnections)
    box.loop = rig.loop
    return rig
  }

  @Test(
    "a link that ends before its first use is dialed again", arguments: UpstreamRig.Framing.allCases,
    [
      UpstreamRig.Opening.resets, .closes,
    ])
  func endsAtOnce(_ framing: UpstreamRig.Framing, _ opening: UpstreamRig.Opening) throws {
    let rig = rig(framing)
    rig.opening = { [unowned rig] in (rig.dials.count == 1 ? opening : .opens, .zero) }
    let first = try rig.begin()
    try rig.run(for: .seconds(4)) { first.isOver }
    #expect(first.status == "200", "\(first.error.debugDescription)")
    let second = try rig.begin()
    try rig.run(for: .seconds(4)) { second.isOver }
    #expect(second.status == "200")
    #expect(rig.dials.count == 2)
  }

  @Test(
    "a link that always ends at once fails its request after the link timeout, and not before",
    arguments: UpstreamRig.Framing.allCases)
  func alwaysEndsAtOnce(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    rig.opening = { (.resets, .zero) }
    let response = try rig.begin()
    try rig.run(for: .seconds(20)) { response.isOver }
    #expect(response.end == response.begin + .seconds(5))
    #expect(response.error?.processing == BywayError.Processing.none)
    // The attempts have doubling pauses, and are not a busy loop.
    #expect((4...12).contains(rig.dials.count), "\(rig.dials.count)")
  }

  @Test("a request whose link is lost for good fails after the link timeout")
  func lost() throws {
    let rig = rig(.http2)
    box.answer = .hangs
    let response = try rig.begin()
    try rig.run(for: .seconds(30))
    #expect(!response.isOver && rig.connectionCount == 1)
    rig.opening = { (.refused, .zero) }
    let dials = rig.dials.count
    let cut = rig.loop.now
    rig.reset()
    try rig.run(for: .seconds(60)) { response.isOver }
    let end = try #require(response.end)
    #expect(end - cut <= .seconds(5) + UpstreamRig.step)
    #expect(response.error?.code == .linkUnavailable)
    #expect(response.error?.processing == .possible)
    #expect((4...12).contains(rig.dials.count - dials), "\(rig.dials.count)")
  }

  @Test(
    "the link timeout also ends a wait in the middle of an attempt", arguments: UpstreamRig.Framing.allCases,
    [
      UpstreamRig.Opening.hangs, .forgotten,
    ])
  func hanging(_ framing: UpstreamRig.Framing, _ opening: UpstreamRig.Opening) throws {
    let rig = rig(framing)
    rig.opening = { (opening, .zero) }
    var responses: [RiggedResponse] = []
    for _ in 0..<4 {
      responses.append(try rig.begin())
      try rig.run(for: .seconds(3))
    }
    try rig.run(for: .seconds(20))
    for response in responses { #expect(response.end == response.begin + .seconds(5)) }
    // The next attempt succeeds.
    rig.opening = { (.opens, .zero) }
    try rig.run(for: .seconds(60)) { rig.connectionCount > 0 }
    let next = try rig.begin()
    try rig.run(for: .seconds(20)) { next.isOver }
    #expect(next.status == "200")
  }

  @Test("if all connections are in use until a request's deadline, the error does not blame the line")
  func deadlineInTheQueue() throws {
    let rig = rig(.http1, maximumConnections: 1)
    box.answer = .hangs
    let first = try rig.begin()
    try rig.run(for: .milliseconds(500))
    let second = try rig.begin(deadline: .seconds(1))
    try rig.run(for: .seconds(2))
    #expect(!first.isOver && second.end == second.deadline)
    #expect(second.error?.code == .refused)
    #expect(second.error?.message.contains("line") == false)
  }

  @Test("while slow requests keep all connections of a pool, another one fails with 503 after ten seconds, not sent")
  func fullPool() throws {
    let rig = rig(.http1, patience: .zero, maximumConnections: 2)
    box.answer = .hangs
    let slow = try (0..<2).map { _ in try rig.begin() }
    try rig.run(for: .milliseconds(500))
    let waiting = try rig.begin(.post)
    try rig.run(for: .seconds(20)) { waiting.isOver }
    #expect(slow.allSatisfy { !$0.isOver } && rig.dials.count == 2)
    #expect(waiting.end == waiting.begin + .seconds(10))
    let error = try #require(waiting.error)
    #expect(FailureResponse.status(of: error) == 503)
    #expect(error.processing == BywayError.Processing.none)
    #expect(error.message.hasPrefix("All 2 connections to far end stayed in use: try again later"))
  }

  @Test("with room in the pool, an origin that accepts no further connection causes 504")
  func unaccepted() throws {
    let rig = rig(.http1, patience: .zero, maximumConnections: 3)
    box.answer = .hangs
    let first = try rig.begin()
    try rig.run(for: .milliseconds(500))
    rig.opening = { (.forgotten, .zero) }
    let second = try rig.begin(.post)
    try rig.run(for: .seconds(20)) { second.isOver }
    #expect(!first.isOver)
    #expect(FailureResponse.status(of: try #require(second.error)) == 504)
    #expect(second.end == second.begin + .seconds(10))
  }

  @Test(
    "a link that opens after a request has timed out serves the next requests",
    arguments: UpstreamRig.Framing.allCases)
  func slow(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    rig.opening = { (.opens, after: .seconds(8)) }
    let first = try rig.begin()
    try rig.run(for: .seconds(8))
    // The reason is reported before the link timeout.
    #expect(first.error?.message == "hung")
    let second = try rig.begin()
    try rig.run(for: .seconds(10)) { second.isOver }
    #expect(second.status == "200")
  }

  @Test("if a link opens but its peer is silent, requests fail after the link timeout")
  func silent() throws {
    let rig = rig(.http2)
    rig.opening = { (.silent, .seconds(1)) }
    let first = try rig.begin()
    try rig.run(for: .seconds(3))
    let second = try rig.begin()
    try rig.run(for: .seconds(60)) { first.isOver && second.isOver }
    for response in [first, second] {
      #expect(response.end == response.begin + .seconds(5))
      #expect(response.error?.code == .linkUnavailable)
      #expect(response.error?.message.contains("nothing has come from its far end") == true)
      #expect(response.error?.processing == .possible)
    }
    // A peer appears: a request begun meanwhile is served.
    let third = try rig.begin()
    try rig.run(for: .seconds(3))
    rig.thaw()
    try rig.run(for: .seconds(1)) { third.isOver }
    #expect(third.status == "200")
    // Afterwards a response may take longer than that.
    box.answer = .hangs
    let slow = try rig.begin()
    try rig.run(for: .seconds(20))
    #expect(!slow.isOver)
  }

  @Test("if a link is silent after it was lost and dialed again, a request waits for the rest of its link timeout")
  func silentAgain() throws {
    let rig = rig(.http2)
    box.answer = .hangs
    let response = try rig.begin()
    try rig.run(for: .seconds(30))
    rig.opening = { (.silent, .zero) }
    let cut = rig.loop.now
    rig.reset()
    try rig.run(for: .seconds(3))
    rig.reset()
    try rig.run(for: .seconds(60)) { response.isOver }
    #expect(try #require(response.end) - cut <= .seconds(5) + UpstreamRig.step)
  }

  @Test("with a link timeout of zero, the first failure is reported at once", arguments: UpstreamRig.Framing.allCases)
  func impatient(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing, patience: .zero)
    rig.opening = { (.refused, .milliseconds(30)) }
    for _ in 0..<3 {
      let response = try rig.begin()
      try rig.run(for: .milliseconds(50))
      #expect(response.error?.code == .linkUnavailable)
    }
    rig.opening = { (.resets, .zero) }
    try rig.run(for: .seconds(10))
    let response = try rig.begin()
    try rig.run(for: .milliseconds(50))
    #expect(response.error != nil)
  }

  @Test("no connection is opened for a request that was cancelled", arguments: UpstreamRig.Framing.allCases)
  func cancelled(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    rig.opening = { (.refused, .zero) }
    let response = try rig.begin()
    try rig.run(for: .seconds(1))
    response.cancel()
    let dials = rig.dials.count
    try rig.run(for: .seconds(60))
    #expect(rig.dials.count <= dials + 1)
    #expect(response.endings == 0 && response.callsAfterEnd == 0)
  }

  @Test("shutting down fails waiting requests, and running ones finish", arguments: UpstreamRig.Framing.allCases)
  func shutDown(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    rig.opening = { (.hangs, .zero) }
    let response = try rig.begin()
    try rig.run(for: .seconds(1))
    rig.upstream?.shutDown()
    #expect(response.error?.code == .cancelled)
    let late = try rig.begin()
    #expect(late.error?.code == .cancelled)
  }

  @Test("a request without a response fails at its deadline", arguments: UpstreamRig.Framing.allCases)
  func deadline(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    box.answer = .hangs
    let response = try rig.begin(deadline: .seconds(7))
    try rig.run(for: .seconds(20)) { response.isOver }
    #expect(response.end == response.begin + .seconds(7))
    #expect(response.error?.code == .timedOut)
    #expect(response.error?.processing == .possible)
  }

  @Test("a request without a response fails after the response timeout", arguments: UpstreamRig.Framing.allCases)
  func responseTimeout(_ framing: UpstreamRig.Framing) throws {
    let rig = rig(framing)
    box.answer = .hangs
    let response = try rig.begin()
    try rig.run(for: .minutes(2)) { response.isOver }
    let end = try #require(response.end)
    #expect((TimeAmount.seconds(60)...(.seconds(61))).contains(end - response.begin))
    #expect(response.error?.code == .timedOut)
  }

  @Test("a proven link is dialed at once after every loss, even after many")
  func backoffReset() throws {
    let rig = rig(.http2, patience: .seconds(100))
    rig.opening = { [unowned rig] in (rig.dials.count <= 8 ? .refused : .opens, .zero) }
    let first = try rig.begin()
    try rig.run(for: .seconds(100)) { first.isOver }
    #expect(first.status == "200")
    #expect(rig.dials.count == 9)
    for _ in 0..<8 {
      rig.reset()
      let cut = rig.loop.now
      let response = try rig.begin()
      try rig.run(for: .seconds(100)) { response.isOver }
      #expect(response.status == "200")
      let dial = try #require(rig.dials.last)
      #expect(dial - cut <= UpstreamRig.step, "\(dial - cut)")
    }
  }

  @Test("a link that never spoke HTTP/2 is dialed with increasing pauses")
  func unproven() throws {
    let rig = rig(.http2, patience: .seconds(30))
    rig.opening = { (.closes, .zero) }
    let response = try rig.begin()
    try rig.run(for: .seconds(40)) { response.isOver }
    #expect(rig.dials.count < 20, "\(rig.dials.count)")
  }

  @Test(
    "requests are sent in the order of their arrival, repeated ones first",
    arguments: UpstreamRig.Framing.allCases)
  func order(_ framing: UpstreamRig.Framing) throws {
    let origin = RiggedOrigin(on: { [box] in box.loop }) { [box] in box.answer }
    let rig = UpstreamRig(framing, origin: origin, maximumConnections: 1)
    box.loop = rig.loop
    rig.opening = { [unowned rig] in (.opens, after: rig.dials.count == 2 ? .seconds(1) : .zero) }
    let warm = try rig.begin()
    try rig.run(for: .seconds(1))
    #expect(warm.isOver)
    box.answer = .hangs
    func request(_ index: Int) throws -> RiggedResponse {
      var fields = FieldSection.get
      fields.set(.path, "/\(index)")
      return try rig.begin(fields)
    }
    var responses = try (0..<4).map(request)
    try rig.run(for: .seconds(1))
    box.answer = .answers(after: .milliseconds(50))
    rig.reset()
    responses += try (4..<8).map(request)
    try rig.run(for: .seconds(10)) { responses.allSatisfy(\.isOver) }
    #expect(responses.map(\.status) == Array(repeating: "200", count: 8))
    #expect(origin.paths.suffix(8) == (0..<8).map { "/\($0)" })
  }
}
