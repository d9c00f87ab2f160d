import BywayHTTPWire
import NIOCore
import TestWire
import Testing

@testable import Byway

/// A peer that allows few streams, in virtual time.
@Suite("Peer with a low stream limit", .timeLimit(.minutes(1))) struct StreamLimitTests {
  private final class Client {}

  private final class Box {
    var answer = RiggedOrigin.Answer.answers(after: .milliseconds(100))
  }

  private let box = Box()

  private func rig(_ raw: RawFarEnd) throws -> UpstreamRig {
    let rig = UpstreamRig(.http2, origin: RiggedOrigin(on: { nil }))
    rig.rawFarEnds[0] = raw
    rig.upstream?.open()
    try rig.run(for: .milliseconds(100))
    return rig
  }

  /// Returns a rig with an open link and an origin that responds after a while.
  private func rig(limit: Int) throws -> (UpstreamRig, RiggedOrigin) {
    final class Loop { weak var rig: UpstreamRig? }
    let loop = Loop()
    let origin = RiggedOrigin(on: { loop.rig?.loop }) { [box] in box.answer }
    let rig = UpstreamRig(.http2, origin: origin)
    loop.rig = rig
    rig.streamLimit = limit
    rig.upstream?.open()
    try rig.run(for: .milliseconds(100))
    return (rig, origin)
  }

  private func get(_ path: String) -> FieldSection {
    var fields = FieldSection.get
    fields.set(.path, path)
    return fields
  }

  @Test("requests above the stream limit wait, and each end of another one starts one") func waiting() throws {
    let raw = RawFarEnd(.allows(2))
    let rig = try rig(raw)
    let responses = try (0..<5).map { _ in try rig.begin(.post) }
    try rig.run(for: .milliseconds(100))
    #expect(raw.requests == 2)
    #expect(rig.upstream?.status.waiting == 3)
    for count in 3...5 {
      raw.answer(1)
      try rig.run(for: .milliseconds(50))
      #expect(raw.requests == count)
      #expect(rig.upstream?.status.waiting == 5 - count)
    }
    raw.answer(2)
    try rig.run(for: .milliseconds(50))
    #expect(responses.map(\.status) == Array(repeating: "200", count: 5))
  }

  @Test("a request that waits too long for a stream fails as not sent") func noTurn() throws {
    let raw = RawFarEnd(.allows(1))
    let rig = try rig(raw)
    let first = try rig.begin()
    let second = try rig.begin(.post)
    let third = try rig.begin(.post, deadline: .seconds(4))
    try rig.run(for: .seconds(20)) { second.isOver }
    #expect(!first.isOver)
    #expect(second.end == second.begin + .seconds(10))
    #expect(third.end == third.deadline)
    for error in [second.error, third.error] {
      #expect(error?.code == .refused)
      #expect(error?.processing == BywayError.Processing.none)
      #expect(error?.message.contains("takes 1 requests at once") == true, "\(error.debugDescription)")
    }
    #expect(raw.requests == 1)
    #expect(rig.upstream?.status.waiting == 0)
  }

  @Test("a stream limit of zero holds requests back until it is raised") func zero() throws {
    let raw = RawFarEnd(.allows(0))
    let rig = try rig(raw)
    let first = try rig.begin()
    try rig.run(for: .seconds(11))
    #expect(first.error?.message.contains("takes no requests at the moment") == true)
    let second = try rig.begin()
    try rig.run(for: .seconds(1))
    #expect(raw.requests == 0)
    try rig.settle { raw.allow(1) }
    try rig.settle { raw.answer(1) }
    #expect(second.status == "200" && raw.requests == 1)
  }

  @Test("a limit reduced below the running streams starts no request until enough have ended") func shrinks() throws {
    let raw = RawFarEnd(.allows(4))
    let rig = try rig(raw)
    for _ in 0..<6 { _ = try rig.begin() }
    try rig.run(for: .milliseconds(100))
    try rig.settle { raw.allow(2) }
    try rig.settle { raw.answer(2) }
    #expect(raw.requests == 4)
    try rig.settle { raw.answer(1) }
    #expect(raw.requests == 5)
    try rig.settle { raw.allow(3) }
    #expect(raw.requests == 6)
  }

  @Test("a reduced limit returns unsent requests to the queue in their place, without using an attempt")
  func takenBack()
    throws
  {
    let raw = RawFarEnd(.allows(4))
    let rig = try rig(raw)
    let responses = try (0..<3).map { _ in try rig.begin(.post) }
    // The new limit arrives before the requests have been sent.
    raw.allow(0)
    try rig.pass()
    for _ in 0..<5 {
      raw.allow(3)
      raw.allow(0)
      try rig.pass()
      #expect(raw.requests == 0)
    }
    #expect(responses.allSatisfy { !$0.isOver })
    try rig.settle { raw.allow(1) }
    #expect(raw.requests == 1 && rig.upstream?.status.waiting == 2)
    try rig.settle { raw.answer(1) }
    #expect(responses.map(\.status) == ["200", nil, nil])
    try rig.settle { raw.allow(4) }
    try rig.settle { raw.answer(2) }
    #expect(responses.map(\.status) == ["200", "200", "200"])
  }

  @Test("a reduced limit returns the latest of the unsent requests to the queue") func latestTakenBack() throws {
    let raw = RawFarEnd(.allows(4))
    let rig = try rig(raw)
    let responses = try (0..<3).map { _ in try rig.begin(.post) }
    // The new limit arrives before the requests have been sent.
    try rig.settle { raw.allow(1) }
    #expect(raw.requests == 1 && rig.upstream?.status.waiting == 2)
    try rig.settle { raw.answer(1) }
    #expect(responses.map(\.status) == ["200", nil, nil])
    for _ in 0..<2 {
      try rig.settle { raw.answer(1) }
    }
    #expect(responses.map(\.status) == ["200", "200", "200"])
  }

  @Test("a connection lost while requests wait for a stream loses none of them") func lost() throws {
    let raw = RawFarEnd(.allows(1))
    let rig = try rig(raw)
    let running = try rig.begin(.post)
    let waiting = try (0..<3).map { _ in try rig.begin(.post) }
    try rig.run(for: .milliseconds(100))
    let next = RawFarEnd(.allows(3))
    rig.rawFarEnds[0] = next
    rig.reset()
    try rig.run(for: .milliseconds(500))
    #expect(running.error?.processing == .possible)
    #expect(next.requests == 3)
    next.answer(3)
    try rig.run(for: .milliseconds(100))
    #expect(waiting.map(\.status) == ["200", "200", "200"])
  }

  @Test("after a lost connection, the wait for a stream counts toward the link timeout again") func patience() throws {
    let raw = RawFarEnd(.allows(1))
    let rig = try rig(raw)
    _ = try rig.begin()
    let waiting = try rig.begin(.post)
    try rig.run(for: .seconds(2))
    rig.opening = { (.refused, .zero) }
    rig.reset()
    let cut = rig.loop.now
    try rig.run(for: .seconds(20)) { waiting.isOver }
    #expect(waiting.end == cut + .seconds(5))
    #expect(waiting.error?.code == .linkUnavailable)
  }

  @Test("a request that leaves the queue frees its place, and is not sent") func cancelled() throws {
    let raw = RawFarEnd(.allows(1))
    let rig = try rig(raw)
    _ = try rig.begin()
    let second = try rig.begin()
    let third = try rig.begin()
    try rig.run(for: .milliseconds(100))
    second.cancel()
    #expect(rig.upstream?.status.waiting == 1)
    try rig.settle { raw.answer(1) }
    try rig.settle { raw.answer(1) }
    #expect(raw.requests == 2 && third.status == "200" && second.endings == 0)
  }

  @Test("a retired upstream serves the waiting requests before it closes its connection") func retired()
    throws
  {
    let (rig, _) = try rig(limit: 1)
    let responses = try (0..<3).map { _ in try rig.begin() }
    try rig.run(for: .milliseconds(50))
    rig.upstream?.retire()
    try rig.run(for: .seconds(1))
    #expect(responses.map(\.status) == ["200", "200", "200"])
    #expect(rig.dials.count == 1 && rig.connectionCount == 0)
  }

  // MARK: Clients

  @Test("a client with many requests does not delay another client") func single() throws {
    let (rig, origin) = try rig(limit: 4)
    let (many, one) = (Client(), Client())
    var responses = try (0..<20).map { try rig.begin(get("/many/\($0)"), of: many) }
    responses.append(try rig.begin(get("/one"), of: one))
    try rig.run(for: .seconds(2))
    #expect(origin.paths.firstIndex(of: "/one") == 4)
    #expect(origin.paths.filter { $0 != "/one" } == (0..<20).map { "/many/\($0)" })
    #expect(responses.allSatisfy { $0.status == "200" })
  }

  @Test("two clients with many requests have the same number of streams") func halves() throws {
    let (rig, origin) = try rig(limit: 4)
    let (first, second) = (Client(), Client())
    for index in 0..<20 { _ = try rig.begin(get("/a\(index)"), of: first) }
    for index in 0..<20 { _ = try rig.begin(get("/b\(index)"), of: second) }
    try rig.run(for: .milliseconds(560))
    for round in 1..<4 {
      let batch = origin.paths.dropFirst(4 * round).prefix(4)
      #expect((1...3).contains(batch.count { $0.hasPrefix("/a") }), "\(batch)")
    }
  }

  @Test("clients with equally few streams take turns") func roundRobin() throws {
    let (rig, origin) = try rig(limit: 1)
    let clients = [Client(), Client(), Client()]
    for (client, count) in [(0, 5), (1, 3), (2, 1)] {
      for index in 0..<count {
        _ = try rig.begin(get("/\("abc".dropFirst(client).prefix(1))\(index)"), of: clients[client])
      }
    }
    try rig.run(for: .seconds(2))
    #expect(origin.paths == ["/a0", "/a1", "/b0", "/c0", "/a2", "/b1", "/a3", "/b2", "/a4"])
  }

  @Test("several connections of one user count as one client") func user() throws {
    let (rig, origin) = try rig(limit: 1)
    let connections = [Client(), Client(), Client()]
    for index in 0..<3 {
      _ = try rig.begin(get("/a\(index)"), of: connections[0], user: "alice")
      _ = try rig.begin(get("/A\(index)"), of: connections[1], user: "alice")
    }
    for index in 0..<2 { _ = try rig.begin(get("/b\(index)"), of: connections[2], user: "bob") }
    try rig.run(for: .seconds(2))
    #expect(origin.paths == ["/a0", "/A0", "/b0", "/a1", "/b1", "/A1", "/a2", "/A2"])
  }

  @Test("if the queue is full, the last request of the client with the most requests is refused") func full() throws {
    let raw = RawFarEnd(.allows(1))
    let rig = try rig(raw)
    let (many, one) = (Client(), Client())
    let responses = try (0..<1025).map { _ in try rig.begin(.get, of: many) }
    #expect(responses.allSatisfy { !$0.isOver })
    let late = try rig.begin(.get, of: many)
    #expect(late.error?.code == .refused && late.error?.processing == BywayError.Processing.none)
    let other = try rig.begin(.get, of: one)
    #expect(!other.isOver)
    #expect(responses.last?.error?.code == .refused)
    #expect(responses.dropLast().allSatisfy { !$0.isOver })
    #expect(rig.upstream?.status.waiting == 1024)
    try rig.run(for: .milliseconds(100))
    for _ in 0..<3 {
      try rig.settle { raw.answer(1) }
    }
    #expect(other.status == "200")
  }
}

extension UpstreamRig {
  /// Runs an event, and lets its consequences take place.
  fileprivate func settle(after event: () -> Void) throws {
    event()
    try run(for: .milliseconds(100))
  }
}
