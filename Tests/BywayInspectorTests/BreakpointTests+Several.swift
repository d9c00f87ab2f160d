import BywayInterceptors
import BywayPrimitives
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import Byway
@testable import BywayInspector

/// Several pauses, several users, and the ends of pauses without a decision.
extension BreakpointTests {
  @Test("each of several pauses, one after the other, ends at its deadline, and nothing is changed")
  func severalDeadlines() async throws {
    let limits = Breakpoints.Pauses.Limits(patience: .milliseconds(200), grace: .seconds(600))
    let house = try await house(pausing: limits)
    for point in ["request", "response"] { try await breakpoint(house, #"{"on":"\#(point)"}"#) }
    for number in 1...2 {
      let begun = NIODeadline.now()
      #expect(try await send(house, .post, "/\(number)", Body("hello")).value.text == "POST /\(number) [] 5 hello")
      // Two pauses, neither of which ends early.
      #expect(NIODeadline.now() - begun >= .milliseconds(400))
    }
    let exchanges = try await house.exchanges()
    #expect(exchanges.map { $0["held"]?.elements.count } == [2, 2] && exchanges.allSatisfy { $0["paused"] == nil })
    for id in 1...4 { #expect(try await act(house, "/api/paused/\(id)/continue").status == 409) }
    #expect(try await act(house, "/api/paused/5/continue").status == 404)
    await house.stop()
  }

  @Test("the time of a pause that ends without a decision does not count against the deadline of a request")
  func deadlineAfterExpiry() async throws {
    let deadline = NIODeadline.now() + .hours(1)
    let after = DeadlineStep()
    let house = try await InspectedProxy(
      pausing: .init(patience: .milliseconds(200), grace: .seconds(600)), before: [DeadlineStep(setting: deadline)],
      after: [after]
    ) { _ in Response(status: .ok) }
    try await breakpoint(house, #"{"on":"request"}"#)
    #expect(try await send(house).value.status == 200)
    let passed = after.seen.withLock(\.self)
    #expect(try #require(passed) - deadline >= .milliseconds(200))
    await house.stop()
  }

  @Test("two exchanges wait at once, and are decided in any order, each by its own id")
  func twoAtOnce() async throws {
    let house = try await house(breakingOn: "request")
    let first = try send(house, .post, "/a", Body("one"))
    try await waitForPause(house)
    let second = try send(house, .put, "/b", Body("two"))
    try await waitForPause(house, 2)
    for (id, path, text) in [(1, "/a", "one"), (2, "/b", "two")] {
      let message = try await message(house, id)
      #expect(message["id"] == .number(id) && message["exchange"] == .number(id) && message["path"]?.text == path)
      #expect(message["body"] == ["bytes": 3, "text": .string(text)])
    }
    #expect(try await act(house, "/api/paused/2/continue", #"{"body":"changed"}"#).status == 204)
    #expect(try await second.value.text == "PUT /b [] 7 changed")
    let paused = try await house.exchanges().map { $0["paused"]?["id"] }
    #expect(paused == [1, nil])
    #expect(try await act(house, "/api/paused/1/answer", #"{"status":404}"#).status == 204)
    #expect(try await first.value.status == 404)
    await house.stop()
  }

  @Test("a response that passes because too many wait is marked, and is unchanged")
  func fullForResponse() async throws {
    let house = try await house(pausing: .init(count: 1, patience: .seconds(600), grace: .seconds(600)))
    try await breakpoint(house, #"{"path":"/a","on":"request"}"#)
    try await breakpoint(house, #"{"path":"/b","on":"response"}"#)
    let first = try send(house)
    try await waitForPause(house)
    #expect(try await send(house, .get, "/b").value.text == "GET /b [] none ")
    #expect(try await house.exchanges().map { $0["unpaused"] } == [nil, .bool(true)])
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    #expect(try await first.value.status == 200)
    // There is room again, and the mark is only on the exchange that passed.
    let third = try send(house, .get, "/b")
    try await waitForPause(house, 2)
    #expect(try await act(house, "/api/paused/2/continue").status == 204)
    #expect(try await third.value.status == 200)
    #expect(try await house.exchanges().map { $0["unpaused"] } == [nil, .bool(true), nil])
    await house.stop()
  }

  @Test("a client that leaves while its response waits ends the pause, and the response of the origin is released")
  func leftAtResponse() async throws {
    let (ended, end) = AsyncStream.makeStream(of: Void.self)
    let (pieces, more) = AsyncStream.makeStream(of: ByteBuffer.self)
    more.onTermination = { _ in end.yield() }
    more.yield(ByteBuffer(string: "first"))
    let house = try await house(Body(pieces))
    try await breakpoint(house, #"{"on":"response"}"#)
    let sent = try send(house)
    #expect(try await eventually { try await message(house, 1)["body"]?["bytes"] == 5 })
    sent.cancel()
    for await _ in ended { break }
    #expect(try await eventually { try await house.exchanges().first?["failure"]?["code"]?.text == "cancelled" })
    #expect(try await house.exchanges().first?["paused"] == nil)
    #expect(try await act(house, "/api/paused/1/continue").status == 409)
    await house.stop()
  }

  @Test(
    "a look at a paused message or a decision counts as the presence of a user",
    arguments: [HTTPRequest.Method.get, .post])
  func presence(_ method: HTTPRequest.Method) async throws {
    let house = try await house()
    let rules = try #require(house.feed.actions.rules)
    try rules.breakpoints.list.add(RuleText.breakpoint(#"{"on":"request"}"#))
    // No user has ever been there.
    #expect(try await send(house).value.status == 200)
    let passed = try await house.exchanges().first
    #expect(passed?["held"] == nil && passed?["unpaused"] == nil)
    let path = "/api/paused/7" + (method == .get ? "" : "/continue")
    #expect(try await house.ask(method, path, token: house.feed.token).status == 404)
    let sent = try send(house)
    try await waitForPause(house)
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    #expect(try await sent.value.status == 200)
    await house.stop()
  }

  @Test("the pauses end when the last of two users leaves")
  func twoUsers() async throws {
    let house = try await house(pausing: .init(patience: .seconds(600), grace: .milliseconds(100)))
    let breakpoints = try #require(house.feed.actions.rules).breakpoints
    try breakpoints.list.add(RuleText.breakpoint(#"{"on":"request"}"#))
    var users = [breakpoints.watch(), breakpoints.watch()]
    let sent = try send(house)
    #expect(try await eventually { try await house.exchanges().first?["paused"]?["id"] == 1 })
    users.removeLast()
    let left = NIODeadline.now()
    #expect(try await eventually { NIODeadline.now() - left > .milliseconds(500) })
    #expect((try? breakpoints.message(1)) != nil)
    withExtendedLifetime(users) {}
    users = []
    #expect(try await sent.value.status == 200)
    #expect(throws: Breakpoints.Pauses.Refusal.ended) { try breakpoints.message(1) }
    await house.stop()
  }

  @Test(
    "when memory is short, as many of the oldest exchanges continue as are needed",
    arguments: [(5, 1), (6, 2), (10, 2)])
  func pressureOfSeveral(_ bytes: Int, _ count: Int) async throws {
    let house = try await house(breakingOn: "request")
    var sent: [Task<Outcome, any Error>] = []
    for id in 1...3 {
      sent.append(try send(house, .post, "/\(id)", Body("hello")))
      try await waitForPause(house, id)
    }
    try #require(house.feed.actions.rules).breakpoints.release(bytes)
    let waiting = try await (1...3).asyncFilter { id in try await message(house, id)["id"] != nil }
    #expect(waiting == Array((count + 1)...3))
    for id in waiting { #expect(try await act(house, "/api/paused/\(id)/continue").status == 204) }
    for (index, outcome) in sent.enumerated() {
      #expect(try await outcome.value.text == "POST /\(index + 1) [] 5 hello")
    }
    await house.stop()
  }

  @Test("a breakpoint for responses matches the request as it arrived, whatever became of it")
  func responseOfEdited() async throws {
    let house = try await house()
    try await breakpoint(house, #"{"path":"/a","on":"request"}"#)
    try await breakpoint(house, #"{"path":"/a","on":"response"}"#)
    let sent = try send(house)
    try await waitForPause(house)
    #expect(try await act(house, "/api/paused/1/continue", #"{"path":"/b"}"#).status == 204)
    try await waitForPause(house, 2)
    let message = try await message(house, 2)
    #expect(message["path"]?.text == "/a" && message["body"]?["text"]?.text == "GET /b [] none ")
    #expect(try await act(house, "/api/paused/2/continue").status == 204)
    #expect(try await sent.value.text == "GET /b [] none ")
    let hits = try await house.json("/api/breakpoints")["breakpoints"]?.elements.map { $0["hits"] }
    #expect(hits == [1, 1])
    await house.stop()
  }

  @Test("trailers pass two pauses, in both directions")
  func trailers() async throws {
    let house = try await InspectedProxy { request in
      let text = String(buffer: try await request.body.collect(upTo: 100))
      let seen = await request.body.trailers()?[.eTag] ?? "none"
      let (pieces, more) = AsyncStream.makeStream(of: ByteBuffer.self)
      more.yield(ByteBuffer(string: "\(text) \(seen)"))
      more.finish()
      return Response(status: .ok, body: Body(pieces, trailers: { [.eTag: "of the response"] }))
    }
    for point in ["request", "response"] { try await breakpoint(house, #"{"on":"\#(point)"}"#) }
    let (pieces, more) = AsyncStream.makeStream(of: ByteBuffer.self)
    more.yield(ByteBuffer(string: "hello"))
    more.finish()
    let request = try Request(
      .post, url: "http://localhost/", body: Body(pieces, trailers: { [.eTag: "of the request"] }))
    let sent = Task {
      let response = try await house.client.execute(request)
      let text = String(buffer: try await response.body.collect(upTo: 100))
      return "\(text), \(await response.body.trailers()?[.eTag] ?? "none")"
    }
    for id in 1...2 {
      try await waitForPause(house, id)
      #expect(try await act(house, "/api/paused/\(id)/continue").status == 204)
    }
    #expect(try await sent.value == "hello of the request, of the response")
    await house.stop()
  }

  @Test("a WebSocket waits before it opens, cannot be edited, and its response does not wait")
  func webSocket() async throws {
    let house = try await InspectedProxy { Response(status: .ok, body: $0.body) }
    for point in ["request", "response"] { try await breakpoint(house, #"{"on":"\#(point)"}"#) }
    var head = HTTPRequest(method: .connect, scheme: "http", authority: "localhost", path: "/socket")
    head.extendedConnectProtocol = "websocket"
    let (outgoing, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    sender.yield(ByteBuffer(string: "ping"))
    let request = Request(head, body: Body(outgoing))
    let sent = Task {
      var chunks = try await house.client.execute(request).body.makeAsyncIterator()
      return try await chunks.next().map { String(buffer: $0) }
    }
    try await waitForPause(house)
    let message = try await message(house, 1)
    #expect(message["tunnel"]?.isTrue == true && message["body"]?["text"] == nil, "\(message)")
    #expect(try await act(house, "/api/paused/1/continue", #"{"path":"/b"}"#).text.contains("tunnel"))
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    #expect(try await sent.value == "ping")
    #expect(try await house.ask(.get, "/api/paused/2", token: house.feed.token).status == 404)
    sender.finish()
    await house.stop()
  }

  @Test("a secret field of a paused message is marked, and has its value only if the user wants that")
  func secretFields() async throws {
    for showsSecrets in [false, true] {
      let house = try await house(showsSecrets: showsSecrets, nil, [.setCookie: "a=hidden"])
      for point in ["request", "response"] { try await breakpoint(house, #"{"on":"\#(point)"}"#) }
      let sent = try send(house, .get, "/a", .empty, [.authorization: "Basic hidden", .accept: "*/*"])
      for (id, name, value) in [(1, "authorization", "Basic hidden"), (2, "set-cookie", "a=hidden")] {
        try await waitForPause(house, id)
        let message = try await message(house, id)
        #expect(try InspectorFeedTests.schema.problems(of: message, as: "paused") == [])
        let fields = message["fields"]?.elements ?? []
        let secret = try #require(fields.first { $0["name"]?.text == name })
        #expect(secret["secret"]?.isTrue == true && secret["value"]?.text == (showsSecrets ? value : nil))
        let others = fields.filter { $0["name"]?.text != name }
        #expect(others.allSatisfy { $0["secret"] == nil && $0["value"]?.text != nil } && !others.isEmpty)
        #expect(try await act(house, "/api/paused/\(id)/continue", #"{"fields":[["\#(name)"]]}"#).status == 204)
      }
      #expect(try await sent.value.fields[.setCookie] == "a=hidden")
      await house.stop()
    }
  }

  @Test("the memory of a paused body is free after each end of its pause", arguments: ["continue", "drop", "answer"])
  func memoryAfter(_ act: String) async throws {
    let house = try await house(breakingOn: "request")
    let rules = try #require(house.feed.actions.rules)
    for id in 1...2 {
      let sent = try send(house, .post, "/a", Body("hello"))
      try await waitForPause(house, id)
      weak let body = try rules.breakpoints.message(id).body
      #expect(body != nil)
      let edit = act == "answer" ? #"{"status":200,"body":"mine"}"# : ""
      #expect(try await self.act(house, "/api/paused/\(id)/\(act)", edit).status == 204)
      _ = try? await sent.value
      #expect(try await eventually { body == nil })
    }
    await house.stop()
  }
}

extension ClosedRange<Int> {
  /// Returns the elements for which a condition holds.
  fileprivate func asyncFilter(_ condition: (Int) async throws -> Bool) async rethrows -> [Int] {
    var all: [Int] = []
    for element in self where try await condition(element) { all.append(element) }
    return all
  }
}
