import BywayInterceptors
import BywayPrimitives
import Foundation
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import Byway
@testable import BywayInspector

/// Exchanges that users pause, edit, answer and drop.
@Suite("Breakpoints of the inspector", .timeLimit(.minutes(3))) struct BreakpointTests {
  /// Answers with the request as it arrived.
  func house(
    pausing limits: Breakpoints.Pauses.Limits = .init(grace: .seconds(60)), showsSecrets: Bool = false,
    _ body: Body? = nil,
    _ fields: HTTPFields = [:]
  ) async throws -> InspectedProxy {
    try await InspectedProxy(showsSecrets: showsSecrets, pausing: limits) { request in
      let asked = try await request.body.collect(upTo: 8 << 20)
      let named = request.head.headerFields.filter { $0.name.canonicalName.hasPrefix("x-") }
      var fields = fields
      fields[.contentType] = fields[.contentType] ?? "text/plain"
      let length = request.head.headerFields[.contentLength] ?? "none"
      let start = String(buffer: asked.getSlice(at: 0, length: min(100, asked.readableBytes)) ?? asked)
      let text = "\(request.head.method) \(request.head.path ?? "") \(named.map { "\($0)" }) \(length) \(start)"
      return Response(status: .ok, fields: fields, body: body ?? Body(text))
    }
  }

  /// Returns the same proxy with a breakpoint on all messages of that kind.
  func house(breakingOn kind: String) async throws -> InspectedProxy {
    let house = try await house()
    try await breakpoint(house, #"{"on":"\#(kind)"}"#)
    return house
  }

  /// Returns a body that begins with a text, and goes on.
  private func openBody(_ text: String) -> (Body, AsyncStream<ByteBuffer>.Continuation) {
    let (pieces, more) = AsyncStream.makeStream(of: ByteBuffer.self)
    more.yield(ByteBuffer(string: text))
    return (Body(pieces), more)
  }

  /// Continues a paused exchange whose body is a stream, and must not have been read.
  private func continueUnread(_ house: InspectedProxy) async throws {
    try await waitForPause(house)
    try await settled(for: .milliseconds(200)) { try await message(house, 1)["body"] }
    let body = try await message(house, 1)["body"]
    #expect(body?["bytes"] == 0 && body?["fixed"]?.text?.contains("stream") == true, "\(body ?? .null)")
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
  }

  struct Outcome: Sendable {
    var status = 0
    var text = ""
    var fields = HTTPFields()
  }

  /// Sends a request whose exchange will be paused.
  func send(
    _ house: InspectedProxy, _ method: HTTPRequest.Method = .get, _ path: String = "/a", _ body: Body = .empty,
    _ fields: HTTPFields = [:]
  ) throws -> Task<Outcome, any Error> {
    var request = try Request(method, url: "http://localhost\(path)", body: body)
    request.head.headerFields = fields
    // The time of a pause counts here. The test has a time limit.
    request.deadline = .now() + .minutes(5)
    let sent = request
    return Task {
      let response = try await house.client.execute(sent)
      let text = String(buffer: try await response.body.collect(upTo: 8 << 20))
      return Outcome(status: response.status.code, text: text, fields: response.fields)
    }
  }

  func breakpoint(_ house: InspectedProxy, _ text: String) async throws {
    #expect(try await act(house, "/api/breakpoints", text).status == 200)
  }

  func act(_ house: InspectedProxy, _ path: String, _ text: String = "") async throws -> (
    status: Int, text: String
  ) {
    let answer = try await house.ask(.post, path, text, token: house.feed.token)
    return (answer.status, answer.text)
  }

  func message(_ house: InspectedProxy, _ id: Int) async throws -> JSON {
    JSON(parsing: try await house.ask(.get, "/api/paused/\(id)", token: house.feed.token).text) ?? .null
  }

  /// Waits until a pause with that id is in the list, and its body has arrived.
  func waitForPause(_ house: InspectedProxy, _ id: Int = 1) async throws {
    #expect(
      try await eventually {
        try await house.exchanges().contains { $0["paused"]?["id"] == .number(id) }
      })
    #expect(try await eventually { try await message(house, id)["body"]?["arriving"] == nil })
  }

  @Test("a request waits at a breakpoint, is listed with its deadline, and continues unchanged")
  func continued() async throws {
    let house = try await house()
    try await breakpoint(house, #"{"method":"POST","path":"/a","on":"request"}"#)
    let sent = try send(house, .post, "/a?x=1", Body("hello"), [.accept: "*/*"])
    try await waitForPause(house)
    let exchange = try #require(try await house.exchanges().first)
    #expect(try InspectorFeedTests.schema.problems(of: exchange, as: "exchange") == [])
    #expect(exchange["state"]?.text == "running" && exchange["paused"]?["at"]?.text == "request")
    let until = exchange["paused"]?["until"].flatMap { Double("\($0)") } ?? 0
    let begun = exchange["begun"].flatMap { Double("\($0)") } ?? 0
    #expect((59_000...75_000).contains(until - begun))
    let message = try await message(house, 1)
    #expect(try InspectorFeedTests.schema.problems(of: message, as: "paused") == [])
    #expect(message["path"]?.text == "/a?x=1" && message["body"] == ["bytes": 5, "text": "hello"])
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    let outcome = try await sent.value
    #expect(outcome.status == 200 && outcome.text == "POST /a?x=1 [] 5 hello", "\(outcome)")
    #expect(try await eventually { try await house.exchanges().first?["paused"] == nil })
    // Another request, and a removed breakpoint, do not pause.
    #expect(try await send(house).value.status == 200)
    #expect(try await act(house, "/api/breakpoints/1/remove").status == 200)
    #expect(try await send(house, .post).value.status == 200)
    #expect(try await house.json("/api/breakpoints")["breakpoints"] == [])
    await house.stop()
  }

  @Test("method, path, fields and body of a request can be edited, and its length is corrected")
  func editedRequest() async throws {
    let house = try await house(breakingOn: "request")
    let name = try #require(HTTPField.Name("x-a"))
    let sent = try send(house, .put, "/a", Body("hello"), [name: "1", .authorization: "Basic c2VjcmV0"])
    try await waitForPause(house)
    let fields = try await message(house, 1)["fields"]?.elements ?? []
    #expect(fields.contains(["name": "x-a", "value": "1"]), "\(fields)")
    #expect(fields.contains(["name": "authorization", "secret": .bool(true)]))
    #expect(!fields.contains { $0["name"] == "content-length" || $0["name"] == "host" })
    let edit =
      #"{"method":"POST","path":"/b?y","fields":[["x-a","2"],["x-b","é"],["authorization"]],"body":"a longer text"}"#
    #expect(try await act(house, "/api/paused/1/continue", edit).status == 204)
    let outcome = try await sent.value
    #expect(outcome.text == #"POST /b?y ["x-a: 2", "x-b: é"] 13 a longer text"#, "\(outcome.text)")
    let seen = try await house.json("/api/exchanges/1")["requestFields"]?.elements ?? []
    #expect(seen.contains { $0["name"] == "authorization" && $0["mark"] == nil }, "\(seen)")
    await house.stop()
  }

  @Test("a response waits by its status, and its status, fields and body can be edited")
  func editedResponse() async throws {
    let house = try await house()
    try await breakpoint(house, #"{"on":"response","status":"404"}"#)
    try await breakpoint(house, #"{"path":"/b","on":"response","status":"2xx"}"#)
    #expect(try await send(house).value.status == 200)
    let sent = try send(house, .get, "/b")
    try await waitForPause(house)
    let message = try await message(house, 1)
    #expect(message["at"]?.text == "response" && message["status"] == 200)
    #expect(message["body"]?["text"]?.text == "GET /b [] none ")
    let edit = #"{"status":418,"fields":[["content-type","text/html"],["x-c","3"]],"body":"<b>short</b>"}"#
    #expect(try await act(house, "/api/paused/1/continue", edit).status == 204)
    let outcome = try await sent.value
    #expect(outcome.status == 418 && outcome.text == "<b>short</b>" && outcome.fields[.contentLength] == "12")
    #expect(outcome.fields[.contentType] == "text/html")
    #expect(outcome.fields[try #require(HTTPField.Name("x-c"))] == "3")
    let hits = try await house.json("/api/breakpoints")["breakpoints"]?.elements.map { $0["hits"] }
    #expect(hits == [0, 1])
    await house.stop()
  }

  @Test("a response that becomes one without content loses its body and length", arguments: [204, 205, 304])
  func bodiless(_ status: Int) async throws {
    let house = try await house(Body("some content"))
    try await breakpoint(house, #"{"on":"response"}"#)
    let sent = try send(house)
    try await waitForPause(house)
    #expect(try await act(house, "/api/paused/1/continue", #"{"status":\#(status)}"#).status == 204)
    let outcome = try await sent.value
    #expect(outcome.status == status && outcome.text == "")
    #expect(outcome.fields[.contentLength] == (status == 205 ? "0" : nil))
    // The connection is still in order.
    #expect(try await act(house, "/api/breakpoints/1/remove").status == 200)
    #expect(try await send(house).value.text == "some content")
    await house.stop()
  }

  @Test("the response to HEAD has no body to edit, and keeps its length")
  func head() async throws {
    let house = try await house(Body("some content"), [.contentLength: "12"])
    try await breakpoint(house, #"{"on":"response"}"#)
    let sent = try send(house, .head)
    try await waitForPause(house)
    #expect(try await message(house, 1)["body"]?["fixed"]?.text?.contains("no body") == true)
    #expect(try await act(house, "/api/paused/1/continue", #"{"body":"x"}"#).text.contains(#""part":"body""#))
    // A misspelt member does not end the pause.
    let misspelt = try await act(house, "/api/paused/1/continue", #"{"bdy":"x"}"#)
    #expect(misspelt.status == 400 && misspelt.text.contains(#""bdy" is unknown"#), "\(misspelt.text)")
    #expect(try await act(house, "/api/paused/1/continue", #"{"fields":[["x-c","3"]]}"#).status == 204)
    let outcome = try await sent.value
    #expect(outcome.status == 200 && outcome.text == "" && outcome.fields[.contentLength] == "12")
    await house.stop()
  }

  @Test("a request with HEAD keeps its method, and its other parts can be edited")
  func headRequest() async throws {
    let house = try await house(breakingOn: "request")
    let sent = try send(house, .head)
    try await waitForPause(house)
    for method in ["GET", "POST"] {
      let answer = try await act(house, "/api/paused/1/continue", #"{"method":"\#(method)"}"#)
      #expect(answer.status == 400 && JSON(parsing: answer.text)?["part"]?.text == "method", "\(answer)")
    }
    #expect(try await act(house, "/api/paused/1/continue", #"{"method":"HEAD","path":"/b"}"#).status == 204)
    let outcome = try await sent.value
    #expect(outcome.status == 200 && outcome.text == "")
    await house.stop()
  }

  @Test("a user answers in place of the origin, or of its response", arguments: ["request", "response"])
  func answered(_ point: String) async throws {
    let reached = Atomic(0)
    let house = try await InspectedProxy { _ in
      reached.add(1, ordering: .relaxed)
      return Response(status: .ok, body: Body("the origin's"))
    }
    try await breakpoint(house, #"{"on":"\#(point)"}"#)
    let sent = try send(house, .post, "/a", Body("hello"))
    try await waitForPause(house)
    #expect(try await act(house, "/api/paused/1/answer", #"{"status":200,"body":"mine"}"#).status == 204)
    let outcome = try await sent.value
    #expect(outcome.status == 200 && outcome.text == "mine")
    #expect(outcome.fields[.contentType] == "text/plain; charset=utf-8" && outcome.fields[.contentLength] == "4")
    #expect(reached.load(ordering: .relaxed) == (point == "request" ? 0 : 1))
    await house.stop()
  }

  @Test("a dropped exchange gets no answer, and the next one does", arguments: ["request", "response"])
  func dropped(_ point: String) async throws {
    let house = try await house()
    try await breakpoint(house, #"{"on":"\#(point)"}"#)
    // A client may repeat a GET.
    let sent = try send(house, .post)
    try await waitForPause(house)
    #expect(try await act(house, "/api/paused/1/drop").status == 204)
    await #expect(throws: (any Error).self) { try await sent.value }
    #expect(try await eventually { try await house.exchanges().first?["state"]?.text == "failed" })
    let exchange = try #require(try await house.exchanges().first)
    #expect(exchange["failure"]?["code"]?.text == "dropped" && exchange["status"] == nil, "\(exchange)")
    #expect(try await act(house, "/api/breakpoints/1/remove").status == 200)
    #expect(try await send(house).value.status == 200)
    await house.stop()
  }

  @Test(
    "over HTTP/1.1, the connection of a dropped exchange closes without a response", arguments: ["request", "response"])
  func droppedHTTP1(_ point: String) async throws {
    let folder = try TemporaryFolder()
    let house = try await InspectedProxy(listen: "unix:\(folder["listen"])") { _ in
      Response(status: .ok, body: Body("content"))
    }
    try await breakpoint(house, #"{"on":"\#(point)"}"#)
    let client = try await house.connect(to: folder["listen"])
    try await client.send("GET /a HTTP/1.1\r\nhost: localhost\r\n\r\n")
    try await waitForPause(house)
    #expect(try await act(house, "/api/paused/1/drop").status == 204)
    #expect(try await client.receiveToEnd() == "")
    client.close()
    // A further connection is served.
    #expect(try await act(house, "/api/breakpoints/1/remove").status == 200)
    let other = try await house.connect(to: folder["listen"])
    try await other.send("GET /a HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    #expect(try await other.receiveToEnd().hasPrefix("HTTP/1.1 200 "))
    other.close()
    await house.stop()
  }

  @Test("the times of pauses and delays are in the feed, and in HAR where they delayed the request")
  func held() async throws {
    let house = try await house()
    for point in ["request", "response"] { try await breakpoint(house, #"{"on":"\#(point)"}"#) }
    // Two rules make one delay.
    for delay in [20, 30] { #expect(try await act(house, "/api/faults", #"{"delay":\#(delay)}"#).status == 200) }
    let sent = try send(house)
    try await waitForPause(house)
    let running = try #require(try await house.exchanges().first)
    #expect(running["held"]?.elements.map { $0["by"]?.text } == ["breakpoint"])
    #expect(running["held"]?.elements.first?["to"] == nil)
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    try await waitForPause(house, 2)
    #expect(try await act(house, "/api/paused/2/continue").status == 204)
    #expect(try await sent.value.status == 200)
    #expect(try await eventually { try await house.exchanges().first?["state"]?.text == "done" })

    let exchange = try #require(try await house.exchanges().first)
    #expect(try InspectorFeedTests.schema.problems(of: exchange, as: "exchange") == [])
    let held = try #require(exchange["held"]?.elements)
    #expect(held.map { $0["by"]?.text } == ["breakpoint", "fault", "breakpoint"])
    func number(_ json: JSON?) -> Double { json.flatMap { Double("\($0)") } ?? -1 }
    let steps = held.flatMap { [number($0["from"]), number($0["to"])] }
    #expect(steps == steps.sorted() && steps.allSatisfy { $0 >= 0 }, "\(steps)")
    #expect(steps[3] - steps[2] >= 50 && steps[3] <= number(exchange["sent"]), "\(steps)")
    #expect(number(exchange["answered"]) <= steps[4] && steps[5] <= number(exchange["ended"]), "\(steps)")

    let har = JSON(parsing: try await house.ask(.get, "/api/har", token: house.feed.token).text)
    let entry = try #require(har?["log"]?["entries"]?.elements.first)
    let phases = ["blocked", "send", "wait", "receive"].map { number(entry["timings"]?[$0]) }
    #expect(abs(phases[0] - (steps[1] - steps[0]) - (steps[3] - steps[2])) < 0.01, "\(phases) \(steps)")
    #expect(phases.allSatisfy { $0 >= 0 } && abs(phases.reduce(0, +) - number(entry["time"])) < 0.01, "\(phases)")
    #expect(entry["_byway"]?["held"] == exchange["held"])
    await house.stop()
  }

  /// Sets the deadline of requests, or notes it. Safe on any thread.
  final class DeadlineStep: Interceptor {
    let seen = Mutex<NIODeadline?>(nil)
    private let deadline: NIODeadline?

    init(setting deadline: NIODeadline? = nil) {
      self.deadline = deadline
    }

    func intercept(_ request: Request, next: Next) async throws -> Response {
      var request = request
      if let deadline { request.deadline = deadline }
      seen.withLock { [deadline = request.deadline] in $0 = deadline }
      return try await next(request)
    }
  }

  @Test("the time of a pause does not count against the deadline of a request", arguments: ["", #"{"method":"POST"}"#])
  func deadline(_ edit: String) async throws {
    let deadline = NIODeadline.now() + .hours(1)
    let after = DeadlineStep()
    let house = try await InspectedProxy(before: [DeadlineStep(setting: deadline)], after: [after]) { _ in
      Response(status: .ok)
    }
    try await breakpoint(house, #"{"on":"request"}"#)
    let begun = NIODeadline.now()
    let sent = try send(house)
    try await waitForPause(house)
    let paused = NIODeadline.now()
    #expect(try await eventually { NIODeadline.now() - paused > .milliseconds(50) })
    #expect(try await act(house, "/api/paused/1/continue", edit).status == 204)
    #expect(try await sent.value.status == 200)
    let passed = after.seen.withLock(\.self)
    let seen = try #require(passed)
    #expect(seen - deadline >= .milliseconds(50) && seen - deadline <= NIODeadline.now() - begun)
    await house.stop()
  }

  @Test("a user cannot answer CONNECT with a status that would open a tunnel")
  func tunnel() throws {
    let memory = PausedMemory(MemoryBudget(limit: 1 << 20))
    let head = HTTPRequest(method: .connect, scheme: nil, authority: "device:443", path: nil)
    let message = PausedMessage(
      exchange: 1, request: Request(head), response: nil, body: ReadBody(.empty, memory.share()))
    let flaw = #expect(throws: EditFlaw.self) { try message.answer(["status": 200], memory) }
    #expect(flaw?.part == .status && flaw?.reason.contains("tunnel") == true)
    guard case .response(let refusal) = try message.answer(["status": 403], memory) else {
      Issue.record("no response")
      return
    }
    #expect(refusal.status.code == 403)
  }

  @Test("an edited body that memory has no room for is refused")
  func noRoom() throws {
    // A quarter of the budget is for paused bodies.
    let memory = PausedMemory(MemoryBudget(limit: 40))
    let message = PausedMessage(
      exchange: 1, request: try Request(.post, url: "http://localhost/"), response: nil,
      body: ReadBody(.empty, memory.share()))
    let flaw = #expect(throws: EditFlaw.self) { try message.edited(["body": "more than ten bytes"], memory) }
    #expect(flaw?.part == .body && flaw?.reason.contains("no memory") == true)
    #expect(throws: EditFlaw.self) { try message.answer(["status": 200, "body": "more than ten bytes"], memory) }
    #expect(throws: Never.self) { try message.edited(["body": "short"], memory) }
  }

  @Test("an edit neither sees nor changes Via and the fields of Byway")
  func hops() async throws {
    let seen = Mutex<[[String]]>([])
    let house = try await InspectedProxy { request in
      seen.withLock { $0.append(request.head.headerFields[values: .via]) }
      return Response(status: .ok)
    }
    let name = try #require(HTTPField.Name("x-a"))
    let fields: HTTPFields = [name: "1", .via: "1.1 before"]
    #expect(try await send(house, .get, "/a", .empty, fields).value.status == 200)
    try await breakpoint(house, #"{"on":"request"}"#)
    let sent = try send(house, .get, "/a", .empty, fields)
    try await waitForPause(house)
    let names = try await message(house, 1)["fields"]?.elements.compactMap { $0["name"]?.text }
    #expect(names == ["x-a"])
    #expect(try await act(house, "/api/paused/1/continue", #"{"fields":[["x-a","2"]]}"#).status == 204)
    #expect(try await sent.value.status == 200)
    let values = seen.withLock(\.self)
    #expect(values.count == 2 && values[0] == values[1] && values[0].joined().contains("before"), "\(values)")
    await house.stop()
  }

  @Test("an exchange that has continued is not listed as paused while its response arrives")
  func continues() async throws {
    let (pieces, more) = AsyncStream.makeStream(of: ByteBuffer.self)
    let house = try await house(Body(pieces))
    try await breakpoint(house, #"{"on":"request"}"#)
    let sent = try send(house)
    try await waitForPause(house)
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    #expect(
      try await eventually {
        let exchange = try await house.exchanges().first
        return exchange?["state"]?.text == "running" && exchange?["answered"] != nil && exchange?["paused"] == nil
      })
    more.finish()
    #expect(try await sent.value.status == 200)
    await house.stop()
  }

  @Test("a client that leaves ends the pause at once, the list says so, and nothing goes on")
  func left() async throws {
    let reached = Atomic(0)
    let house = try await InspectedProxy { _ in
      reached.add(1, ordering: .relaxed)
      return Response(status: .ok)
    }
    try await breakpoint(house, #"{"on":"request"}"#)
    let sent = try send(house)
    try await waitForPause(house)
    sent.cancel()
    #expect(try await eventually { try await house.exchanges().first?["failure"]?["code"]?.text == "cancelled" })
    #expect(try await house.exchanges().first?["paused"] == nil)
    let late = try await act(house, "/api/paused/1/continue")
    #expect(late.status == 409 && late.text.contains("no longer paused"))
    #expect(reached.load(ordering: .relaxed) == 0)
    await house.stop()
  }

  @Test("a pause ends at its deadline, and without a page after the grace")
  func deadlines() async throws {
    for (patience, grace) in [
      (TimeAmount.milliseconds(300), TimeAmount.seconds(60)), (.seconds(60), .milliseconds(300)),
    ] {
      let house = try await house(pausing: .init(count: 16, patience: patience, grace: grace))
      try await breakpoint(house, #"{"on":"request"}"#)
      let begun = NIODeadline.now()
      #expect(try await send(house, .post, "/a", Body("hello")).value.text == "POST /a [] 5 hello")
      let lasted = NIODeadline.now() - begun
      #expect(lasted < .seconds(30), "\(lasted)")
      await house.stop()
    }
  }

  @Test("a page with the token keeps exchanges paused, and one without it does not")
  func watched() async throws {
    let house = try await house(pausing: .init(count: 16, patience: .seconds(60), grace: .milliseconds(200)))
    try await breakpoint(house, #"{"on":"request"}"#)
    func events(_ query: String) -> Request {
      Request(HTTPRequest(method: .get, scheme: "http", authority: "localhost:4040", path: "/api/events\(query)"))
    }
    var reader: Response? = try await house.feed.respond(to: events("?token=\(house.feed.token)"))
    let sent = try send(house)
    #expect(try await eventually { try await house.exchanges().first?["paused"]?["id"] == 1 })
    let breakpoints = try #require(house.feed.actions.rules).breakpoints
    // Longer than the grace: the page is there.
    for _ in 0..<4 { _ = try await house.events(1) }
    #expect((try? breakpoints.message(1)) != nil)
    withExtendedLifetime(reader) {}
    reader = nil
    let left = NIODeadline.now()
    #expect(try await sent.value.status == 200)
    // By the grace, and not by the deadline.
    #expect(NIODeadline.now() - left < .seconds(50))
    let other = try await house.feed.respond(to: events(""))
    #expect(try await send(house).value.status == 200)
    #expect(try await house.exchanges().last?["paused"] == nil)
    withExtendedLifetime(other) {}
    await house.stop()
  }

  @Test("further exchanges pass when too many wait, and are marked")
  func full() async throws {
    let house = try await house(pausing: .init(count: 1, patience: .seconds(60), grace: .seconds(60)))
    try await breakpoint(house, #"{"on":"request"}"#)
    let sent = try send(house)
    try await waitForPause(house)
    #expect(try await send(house, .get, "/b").value.status == 200)
    let exchanges = try await house.exchanges()
    #expect(exchanges.map { $0["unpaused"] } == [nil, .bool(true)])
    #expect(try InspectorFeedTests.schema.problems(of: exchanges[1], as: "exchange") == [])
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    #expect(try await sent.value.status == 200)
    await house.stop()
  }

  @Test("bodies that are not text, have a coding, or are too large are not editable and pass unchanged")
  func fixed() async throws {
    let large = ByteBuffer(repeating: UInt8(ascii: "a"), count: (4 << 20) + 1)
    let whole = ByteBuffer(repeating: UInt8(ascii: "b"), count: 4 << 20)
    let cases: [(ByteBuffer, HTTPFields, String?)] = [
      (ByteBuffer(bytes: [0xFF, 0xFE]), [:], "not text"), (ByteBuffer(bytes: [0x61, 0, 0x62]), [:], "not text"),
      (ByteBuffer(string: "abc"), [.contentEncoding: "br"], "encoded as br"),
      (ByteBuffer(string: "data: 1\n\n"), [.contentType: "text/event-stream"], "stream"),
      (large, [:], "larger than 4 MiB"),
      (whole, [:], nil),
    ]
    for (bytes, fields, reason) in cases {
      for hasLength in [true, false] {
        let pieces = bytes
        let body =
          hasLength
          ? Body(bytes)
          : Body(
            AsyncStream {
              $0.yield(pieces); $0.finish()
            })
        // The JSON of a large body takes long to make on a busy machine.
        let house = try await house(pausing: .init(patience: .minutes(5), grace: .minutes(5)), body, fields)
        try await breakpoint(house, #"{"on":"response"}"#)
        let sent = try send(house)
        try await waitForPause(house)
        let shown = try await message(house, 1)["body"]
        #expect(shown?["fixed"]?.text?.contains(reason ?? "-") == (reason == nil ? nil : true), "\(reason ?? "")")
        #expect((shown?["text"] == nil) == (reason != nil))
        if reason != nil {
          let refused = try await act(house, "/api/paused/1/continue", #"{"body":"x"}"#)
          #expect(refused.status == 400 && refused.text.contains(#""part":"body""#))
        }
        #expect(try await act(house, "/api/paused/1/continue", #"{"fields":[["x-c","3"]]}"#).status == 204)
        let outcome = try await sent.value
        #expect(outcome.text.utf8.count == String(buffer: bytes).utf8.count && outcome.text == String(buffer: bytes))
        #expect(outcome.fields[.contentEncoding] == fields[.contentEncoding])
        #expect(outcome.fields[try #require(HTTPField.Name("x-c"))] == "3")
        await house.stop()
      }
    }
  }

  @Test("a body that is still arriving does not delay a decision, and passes whole")
  func arriving() async throws {
    let house = try await house(breakingOn: "request")
    let (body, more) = openBody("one ")
    let sent = try send(house, .post, "/a", body)
    #expect(try await eventually { try await message(house, 1)["body"]?["bytes"] == 4 })
    #expect(try await message(house, 1)["body"]?["arriving"]?.isTrue == true)
    #expect(try await act(house, "/api/paused/1/continue", #"{"body":"x"}"#).status == 400)
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    more.yield(ByteBuffer(string: "two "))
    more.yield(ByteBuffer(string: "three"))
    more.finish()
    #expect(try await sent.value.text == "POST /a [] none one two three")
    await house.stop()
  }

  @Test("the pieces of a body pass as they arrive after the exchange has continued")
  func passing() async throws {
    let house = try await InspectedProxy { Response(status: .ok, body: $0.body) }
    try await breakpoint(house, #"{"on":"request"}"#)
    let (body, more) = openBody("one ")
    let request = try Request(.post, url: "http://localhost/a", body: body)
    let sent = Task { try await house.client.execute(request) }
    #expect(try await eventually { try await message(house, 1)["body"]?["bytes"] == 4 })
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    more.yield(ByteBuffer(string: "two"))
    var text = ""
    for try await piece in try await sent.value.body {
      text += String(buffer: piece)
      if text == "one two" { more.finish() }
    }
    #expect(text == "one two")
    await house.stop()
  }

  @Test("a request whose body is a stream waits without reading it")
  func streamed() async throws {
    let house = try await house(breakingOn: "request")
    let (body, more) = openBody("one ")
    let sent = try send(house, .post, "/a", body, [.contentType: "application/grpc+proto"])
    try await continueUnread(house)
    more.finish()
    #expect(try await sent.value.text == "POST /a [] none one ")
    await house.stop()
  }

  @Test("a response that is a stream waits without being read", arguments: ["text/event-stream", "application/grpc"])
  func streamedResponse(_ type: String) async throws {
    let (body, more) = openBody("data: 1\n\n")
    let house = try await house(body, [.contentType: type])
    try await breakpoint(house, #"{"on":"response"}"#)
    let sent = try send(house)
    try await continueUnread(house)
    more.finish()
    #expect(try await sent.value.text == "data: 1\n\n")
    await house.stop()
  }

  @Test("a field without a value keeps all of its values")
  func keptValues() async throws {
    let house = try await house(breakingOn: "request")
    let name = try #require(HTTPField.Name("x-a"))
    var fields = HTTPFields()
    for value in ["1", "2"] { fields.append(HTTPField(name: name, value: value)) }
    let sent = try send(house, .get, "/a", .empty, fields)
    try await waitForPause(house)
    #expect(try await act(house, "/api/paused/1/continue", #"{"fields":[["x-a"],["x-b","3"]]}"#).status == 204)
    #expect(try await sent.value.text == #"GET /a ["x-a: 1", "x-a: 2", "x-b: 3"] none "#)
    await house.stop()
  }

  @Test("the memory of paused bodies counts in the budget until they have passed")
  func memory() async throws {
    let budget = MemoryBudget(limit: 8 << 20)
    let memory = PausedMemory(budget)
    do {
      let share = memory.share()
      #expect(share.take(1 << 20) && budget.held == 1 << 20)
      // A quarter of the budget.
      #expect(!memory.share().take((1 << 20) + 1) && budget.held == 1 << 20)
      #expect(memory.share().take(1 << 20))
      let body = ReadBody(Body("twelve bytes"), memory.share())
      #expect(try await eventually { if case .whole = body.content { true } else { false } })
      #expect(budget.held == (1 << 20) + 12)
      #expect(String(buffer: try await body.body.collect(upTo: 100)) == "twelve bytes")
    }
    #expect(try await eventually { budget.held == 0 })
  }

  @Test("a message is not kept after its exchange has continued")
  func released() async throws {
    let house = try await house(breakingOn: "request")
    let sent = try send(house, .post, "/a", Body("hello"))
    try await waitForPause(house)
    let rules = try #require(house.feed.actions.rules)
    weak let body = try rules.breakpoints.message(1).body
    #expect(body != nil)
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    #expect(try await sent.value.text == "POST /a [] 5 hello")
    #expect(try await eventually { body == nil })
    await house.stop()
  }

  @Test("when memory is short, the oldest exchange continues unchanged")
  func pressure() async throws {
    let house = try await house(breakingOn: "request")
    let sent = try send(house, .post, "/a", Body("hello"))
    try await waitForPause(house)
    let other = try send(house, .post, "/b", Body("later"))
    try await waitForPause(house, 2)
    try #require(house.feed.actions.rules).breakpoints.release(1)
    #expect(try await sent.value.text == "POST /a [] 5 hello")
    // The first one was enough.
    #expect(try await act(house, "/api/paused/2/continue", #"{"path":"/c"}"#).status == 204)
    #expect(try await other.value.text == "POST /c [] 5 later")
    await house.stop()
  }

  @Test(
    "an edit that would change the framing, or is no valid message, is refused with the part that is wrong",
    arguments: [
      (#"{"fields":[["transfer-encoding","chunked"]]}"#, "fields"), (#"{"fields":[["Content-Length","5"]]}"#, "fields"),
      (#"{"fields":[["connection","close"]]}"#, "fields"), (#"{"fields":[["upgrade","h2c"]]}"#, "fields"),
      (#"{"fields":[["content-encoding","gzip"]]}"#, "fields"), (#"{"fields":[["host","other"]]}"#, "fields"),
      (#"{"fields":[["te","trailers"]]}"#, "fields"), (#"{"fields":[["byway-next","x"]]}"#, "fields"),
      (#"{"fields":[["Via","1.1 x"]]}"#, "fields"), (#"{"fields":[["byway-user","root"]]}"#, "fields"),
      (#"{"fields":[["proxy-authorization","Basic x"]]}"#, "fields"),
      (#"{"fields":[["x-a","b\r\ncontent-length: 0"]]}"#, "fields"), (#"{"fields":[["x-a","b\nc"]]}"#, "fields"),
      (#"{"fields":[["x-a","\u0000"]]}"#, "fields"), (#"{"fields":[["x a","b"]]}"#, "fields"),
      (#"{"fields":[["x-a:b","c"]]}"#, "fields"), (#"{"fields":[[":path","/c"]]}"#, "fields"),
      (#"{"fields":[["","c"]]}"#, "fields"), (#"{"fields":"x"}"#, "fields"), (#"{"fields":[["a","b","c"]]}"#, "fields"),
      (#"{"fields":[["a",1]]}"#, "fields"), (#"{"fields":[[]]}"#, "fields"),
      (#"{"fields":[["x-a","[redacted]"]]}"#, "fields"),
      (#"{"path":"a"}"#, "path"), (#"{"path":"/a b"}"#, "path"), (#"{"path":"/a HTTP/1.1\r\nx: y"}"#, "path"),
      (#"{"path":"/é"}"#, "path"), (#"{"path":"/a#b"}"#, "path"), (#"{"path":1}"#, "path"),
      (#"{"path":"/[redacted]"}"#, "path"), (#"{"method":"A B"}"#, "method"), (#"{"method":""}"#, "method"),
      (#"{"method":"CONNECT"}"#, "method"), (#"{"method":"HEAD"}"#, "method"), (#"{"method":null}"#, "method"),
      (#"{"status":200}"#, "status"), (#"{"body":1}"#, "body"), (#"{"body":"[redacted]"}"#, "body"),
    ])
  func refused(_ edit: String, _ part: String) async throws {
    let house = try await house(breakingOn: "request")
    let sent = try send(house, .post, "/a", Body("hello"))
    try await waitForPause(house)
    let answer = try await act(house, "/api/paused/1/continue", edit)
    #expect(answer.status == 400 && JSON(parsing: answer.text)?["part"]?.text == part, "\(answer)")
    #expect(JSON(parsing: answer.text)?["reason"]?.text?.isEmpty == false)
    // It still waits, unchanged.
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    #expect(try await sent.value.text == "POST /a [] 5 hello")
    await house.stop()
  }

  @Test(
    "an invalid answer is refused with the part that is wrong",
    arguments: [
      ("", "status"), (#"{"status":"200"}"#, "status"), (#"{"status":101}"#, "status"), (#"{"status":600}"#, "status"),
      (#"{"status":1e3}"#, "status"), (#"{"status":200,"fields":[["transfer-encoding","chunked"]]}"#, "fields"),
      (#"{"status":200,"fields":[["set-cookie","a\r\nb: c"]]}"#, "fields"), (#"{"status":200,"body":[]}"#, "body"),
      (#"{"status":200,"fields":[["via","1.1 x"]]}"#, "fields"), (#"{"status":200,"path":"/"}"#, "path"),
      (#"{"status":200,"method":"GET"}"#, "method"),
    ])
  func refusedAnswer(_ text: String, _ part: String) async throws {
    let house = try await house(breakingOn: "request")
    let sent = try send(house)
    try await waitForPause(house)
    let answer = try await act(house, "/api/paused/1/answer", text)
    #expect(answer.status == 400 && JSON(parsing: answer.text)?["part"]?.text == part, "\(answer)")
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    #expect(try await sent.value.status == 200)
    await house.stop()
  }

  @Test("wrong, late and repeated decisions, and those without the token, change nothing")
  func wrongDecisions() async throws {
    let house = try await house(breakingOn: "request")
    let sent = try send(house)
    try await waitForPause(house)
    for path in [
      "/api/paused/2/continue", "/api/paused/0/drop", "/api/paused/x/drop", "/api/paused/1/explode", "/api/paused/1",
      "/api/paused",
    ] {
      #expect(try await act(house, path).status == 404, "\(path)")
    }
    for text in ["[]", "{", "1", "\"\""] {
      #expect(try await act(house, "/api/paused/1/continue", text).status == 400, "\(text)")
    }
    let long = #"{"body":"\#(String(repeating: "a", count: (4 << 20) + 1))"}"#
    #expect(try await act(house, "/api/paused/1/continue", long).text.contains("larger than 4 MiB"))
    let longer = #"{"body":"\#(String(repeating: "a", count: 9 << 20))"}"#
    #expect(try await act(house, "/api/paused/1/continue", longer).status == 413)
    for (method, path) in [
      (HTTPRequest.Method.post, "/api/paused/1/continue"), (.get, "/api/paused/1"), (.post, "/api/breakpoints"),
    ] {
      #expect(try await house.ask(method, path, "{}").status == 403)
      #expect(try await house.ask(method, path, "{}", token: "wrong").status == 403)
    }
    #expect(try await act(house, "/api/paused/1/continue").status == 204)
    #expect(try await act(house, "/api/paused/1/continue").status == 409)
    #expect(try await act(house, "/api/paused/1/drop").status == 409)
    #expect(try await sent.value.status == 200)
    #expect(try await house.ask(.get, "/api/paused/1", token: house.feed.token).status == 409)
    await house.stop()
  }

  @Test(
    "the status of a breakpoint is one or a class of a hundred, as it is listed",
    arguments: [("404", 404...404), ("4XX", 400...499), ("2xx", 200...299), ("5xx", 500...599)])
  func statuses(_ text: String, _ range: ClosedRange<Int>) async throws {
    #expect(try RuleText.breakpoint(#"{"on":"response","status":"\#(text)"}"#).statuses == range)
    let house = try await house()
    try await breakpoint(house, #"{"path":"/a","on":"response","status":"\#(text)"}"#)
    let listed = try await house.json("/api/breakpoints")["breakpoints"]
    #expect(
      listed == [["id": 1, "hits": 0, "path": "/a", "on": "response", "status": .string(text.lowercased())]],
      "\(listed ?? .null)")
    await house.stop()
  }

  @Test(
    "an invalid breakpoint is refused with the valid form",
    arguments: [
      ("", "object"), ("{}", "on must be"), (#"{"on":"both"}"#, "on must be"), (#"{"on":1}"#, "on must be text"),
      (#"{"on":"request","status":"404"}"#, "no status"), (#"{"on":"response","status":"6xx"}"#, "200 to 599"),
      (#"{"on":"response","status":"1xx"}"#, "200 to 599"), (#"{"on":"response","status":"+40"}"#, "200 to 599"),
      (#"{"on":"response","status":404}"#, "must be text"), (#"{"on":"request","path":"a"}"#, "begins with /"),
      (#"{"on":"request","host":"a b"}"#, "not a host"), (#"{"on":"request","method":["GET"]}"#, "must be text"),
    ])
  func invalid(_ text: String, _ words: String) async throws {
    let house = try await house()
    let answer = try await act(house, "/api/breakpoints", text)
    #expect(answer.status == 400 && answer.text.contains(words), "\(answer.text)")
    #expect(try await house.json("/api/breakpoints")["breakpoints"] == [])
    await house.stop()
  }

  @Test("there are at most 32 breakpoints and 32 stubs, and requests bypass the rules while there are none")
  func limits() async throws {
    let house = try await house()
    let rules = try #require(house.feed.actions.rules)
    #expect(!rules.isNeeded)
    for (path, text) in [
      ("breakpoints", #"{"on":"request"}"#), ("stubs", ####"{"text":"### GET /\nHTTP/1.1 200\n"}"####),
    ] {
      for _ in 0..<32 { #expect(try await act(house, "/api/\(path)", text).status == 200) }
      #expect(rules.isNeeded)
      #expect(try await act(house, "/api/\(path)", text).status == 503)
      for id in 1...32 { #expect(try await act(house, "/api/\(path)/\(id)/remove").status == 200) }
      #expect(try await act(house, "/api/\(path)/1/remove").status == 404)
      #expect(!rules.isNeeded)
    }
    await house.stop()
  }

  @Test("a breakpoint has at most 64 KiB and all have at most 1 MiB, and more is refused with advice")
  func sizes() async throws {
    let house = try await house()
    func add(_ count: Int) async throws -> (status: Int, text: String) {
      let path = String(repeating: "a", count: count)
      return try await act(house, "/api/breakpoints", #"{"on":"request","path":"/\#(path)"}"#)
    }
    let large = try await add(64 << 10)
    #expect(large.status == 413 && large.text.contains("at most 64 KiB"), "\(large)")
    for _ in 0..<16 { #expect(try await add(65_400).status == 200) }
    let more = try await add(65_400)
    #expect(more.status == 413 && more.text.contains("remove one"), "\(more)")
    #expect(try await act(house, "/api/breakpoints/1/remove").status == 200)
    #expect(try await add(65_400).status == 200)
    await house.stop()
  }

  @Test("a stub takes effect at once, before the request is sent, and until it is removed")
  func stub() async throws {
    let reached = Atomic(0)
    let house = try await InspectedProxy { _ in
      reached.add(1, ordering: .relaxed)
      return Response(status: .ok, fields: [.contentType: "text/plain"], body: Body("real"))
    }
    #expect(try await send(house).value.text == "real")
    let text = try await act(house, "/api/exchanges/1/stub").text
    let made = text.replacing("real", with: "stub")
    #expect(try await act(house, "/api/stubs", "\(["text": .string(made)] as JSON)").status == 200)
    #expect(try await send(house).value.text == "stub")
    #expect(try await send(house, .get, "/b").value.text == "real")
    #expect(reached.load(ordering: .relaxed) == 2)
    let list = try await house.json("/api/stubs")
    #expect(try InspectorFeedTests.schema.problems(of: list, as: "faults") == [])
    #expect(list["stubs"] == [["id": 1, "hits": 1, "title": "GET /a", "bytes": .number(made.utf8.count)]])
    #expect(try await house.exchanges().map { $0["from"] } == [nil, "proxy", nil])
    #expect(try await act(house, "/api/stubs/1/remove").status == 200)
    #expect(try await send(house).value.text == "real")
    await house.stop()
  }

  @Test(
    "a stub from the page reads no file, sets no framing, and is one rule",
    arguments: [
      ("### GET /\nHTTP/1.1 200\n\n< /etc/passwd\n", "names a file"),
      ("### GET /\nHTTP/1.1 200\ntransfer-encoding: chunked\n\nx", "set by Byway"),
      ("### GET /\nHTTP/1.1 200\nUpgrade: x\n\nx", "set by Byway"), ("### GET /\nHTTP/1.1 101\n", "status line"),
      ("### GET /\nHTTP/1.1 200\n\n### GET /b\nHTTP/1.1 200\n", "here are 2"), ("", "here are 0"),
      ("x", "a rule begins"),
    ])
  func invalidStub(_ text: String, _ words: String) async throws {
    let house = try await house()
    let answer = try await act(house, "/api/stubs", "\(["text": .string(text)] as JSON)")
    #expect(answer.status == 400 && answer.text.contains(words), "\(answer.text)")
    #expect(try await act(house, "/api/stubs", "{}").status == 400)
    #expect(try await act(house, "/api/stubs", #"{"text":1}"#).status == 400)
    #expect(try await house.json("/api/stubs")["stubs"] == [])
    await house.stop()
  }

  @Test("a breakpoint waits for the responses of stubs and fault rules, too")
  func order() async throws {
    let house = try await house(breakingOn: "response")
    #expect(try await act(house, "/api/stubs", ####"{"text":"### GET /a\nHTTP/1.1 200\n\nstub"}"####).status == 200)
    let sent = try send(house)
    try await waitForPause(house)
    #expect(try await message(house, 1)["body"]?["text"] == "stub")
    #expect(try await act(house, "/api/paused/1/continue", #"{"body":"edited"}"#).status == 204)
    #expect(try await sent.value.text == "edited")
    await house.stop()
  }

  @Test("a fault rule takes effect before a stub for the same request")
  func faultBeforeStub() async throws {
    let house = try await house()
    #expect(try await act(house, "/api/stubs", ####"{"text":"### GET /a\nHTTP/1.1 200\n\nstub"}"####).status == 200)
    #expect(try await act(house, "/api/faults", #"{"path":"/a","status":503}"#).status == 200)
    #expect(try await send(house).value.status == 503)
    #expect(try await house.json("/api/stubs")["stubs"]?.elements.map { $0["hits"] } == [0])
    #expect(try await act(house, "/api/faults/1/remove").status == 200)
    #expect(try await send(house).value.text == "stub")
    await house.stop()
  }

  @Test(
    "the secrets of a paused message are shown only if the user wants that, and are never replaced by a placeholder")
  func secrets() async throws {
    for showsSecrets in [false, true] {
      let house = try await house(showsSecrets: showsSecrets)
      try await breakpoint(house, #"{"on":"request"}"#)
      let sent = try send(
        house, .post, "/a?token=abc", Body(#"{"password":"abc","n":1}"#), [.contentType: "application/json"])
      try await waitForPause(house)
      let shown = "\(try await message(house, 1))"
      #expect(shown.contains("abc") == showsSecrets, "\(shown)")
      if !showsSecrets {
        let edit = #"{"body":"{\"password\":\"[redacted]\",\"n\":2}"}"#
        #expect(try await act(house, "/api/paused/1/continue", edit).text.contains(#""part":"body""#))
      }
      #expect(try await act(house, "/api/paused/1/continue", #"{"fields":[["x-a","1"]]}"#).status == 204)
      let text = try await sent.value.text
      #expect(text.contains(#"/a?token=abc ["x-a: 1"]"#) && text.contains(#"{"password":"abc","n":1}"#), "\(text)")
      await house.stop()
    }
  }
}
