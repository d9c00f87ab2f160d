import BywayPrimitives
import HTTPTypes
import NIOCore
import TestTools
import Testing

@testable import Byway
@testable import BywayInspector

/// Waiting messages, and what users may put in their place.
@Suite("Paused messages", .timeLimit(.minutes(1))) struct PausedMessageTests {
  private let budget = MemoryBudget(limit: 64 << 20)
  private let memory: PausedMemory

  init() {
    memory = PausedMemory(budget)
  }

  private func request(
    _ method: HTTPRequest.Method = .post, _ fields: HTTPFields = [:], _ body: Body = Body("hello"), path: String = "/a"
  ) -> Request {
    Request(
      HTTPRequest(method: method, scheme: "http", authority: "localhost", path: path, headerFields: fields), body: body)
  }

  private func paused(_ request: Request, _ response: Response? = nil) async throws -> PausedMessage {
    let message = PausedMessage(
      exchange: 1, request: request, response: response, body: ReadBody(response?.body ?? request.body, memory.share()))
    #expect(try await eventually { if case .arriving = message.body.content { false } else { true } })
    return message
  }

  private func request(in decision: PausedMessage.Decision) -> Request? {
    if case .request(let request) = decision { request } else { nil }
  }

  private func response(in decision: PausedMessage.Decision) -> Response? {
    if case .response(let response) = decision { response } else { nil }
  }

  private func text(_ body: Body?) async throws -> String? {
    guard let body else { return nil }
    return String(buffer: try await body.collect(upTo: 8 << 20))
  }

  /// Fields that describe a body.
  private static let described: HTTPFields = [
    .contentType: "text/plain", .contentLength: "5", .contentMD5: "x", .contentDigest: "y", .reprDigest: "z",
    .eTag: "\"1\"",
  ]

  // MARK: The body's text

  @Test(
    "a response without content has no text to edit, whatever its body",
    arguments: [(204, true), (205, true), (304, true), (200, false), (206, false), (404, false), (303, false)])
  func bodiless(_ status: Int, _ isBodiless: Bool) async throws {
    let message = try await paused(request(.get), Response(status: .init(code: status), body: Body("x")))
    #expect(message.text == (isBodiless ? .fixed("Such a response has no body.") : .text("x")))
  }

  @Test(
    "a body is text without a coding or with identity, and other codings are named",
    arguments: [
      (nil, nil), ("identity", nil), (" Identity ", nil), ("GZIP", "gzip"), ("br, gzip", "br, gzip"),
    ])
  func codings(_ coding: String?, _ named: String?) async throws {
    var fields = HTTPFields()
    fields[.contentEncoding] = coding
    let fixed = named.map { PausedMessage.Text.fixed("It is encoded as \($0), so it passes unchanged.") }
    #expect(try await paused(request(.post, fields)).text == fixed ?? .text("hello"))
    let response = Response(status: .ok, fields: fields, body: Body("hello"))
    #expect(try await paused(request(.get), response).text == fixed ?? .text("hello"))
  }

  @Test(
    "streams of events and gRPC are known by their media types",
    arguments: [
      ("text/event-stream", true), ("Text/Event-Stream; charset=utf-8", true), ("application/grpc", true),
      ("application/grpc-web+proto", true), ("text/events", false), ("application/json", false), (nil, false),
    ])
  func streams(_ type: String?, _ isStream: Bool) {
    var fields = HTTPFields()
    fields[.contentType] = type
    #expect(PausedMessage.isStream(fields) == isStream)
  }

  @Test("an empty body is an empty text, and zero bytes or half a character make a body fixed")
  func texts() async throws {
    #expect(try await paused(request(.post, [:], .empty)).text == .text(""))
    #expect(try await paused(request(.post, [:], Body("é\n"))).text == .text("é\n"))
    for bytes: [UInt8] in [[0x61, 0], [0xC3], [0x61, 0xFF]] {
      let message = try await paused(request(.post, [:], Body(ByteBuffer(bytes: bytes))))
      #expect(message.text == .fixed("It is not text in UTF-8, so it passes unchanged."))
    }
  }

  @Test(
    "CONNECT, a WebSocket and an upgrade open tunnels: they can be answered, but not edited",
    arguments: [nil, "websocket", "tcp"])
  func tunnels(_ name: String?) async throws {
    let fields: HTTPFields = name == "tcp" ? [.init("byway-upgrade-method")!: "POST"] : [:]
    var opening = request(.connect, fields, .empty)
    opening.head.extendedConnectProtocol = name
    let message = try await paused(opening)
    #expect(message.isTunnel && message.point == .request)
    #expect(message.text == .fixed("It opens a tunnel, whose bytes are not a body."))
    for json: JSON in [["path": "/b"], ["fields": []], ["body": "x"]] {
      let flaw = #expect(throws: EditFlaw.self) { try message.edited(json, memory) }
      #expect(flaw?.reason.contains("tunnel") == true)
    }
    guard case .unchanged = try message.edited([:], memory) else {
      Issue.record("it is changed")
      return
    }
    for status in [200, 204, 299] {
      #expect(throws: EditFlaw.self) { try message.answer(["status": .number(status)], memory) }
    }
    for status in [300, 403, 599] {
      #expect(try response(in: message.answer(["status": .number(status)], memory))?.status.code == status)
    }
  }

  // MARK: Edits of requests

  @Test("a new body removes the fields that describe the old one, and an edit of the head does not")
  func described() async throws {
    let message = try await paused(request(.post, Self.described))
    let head = try #require(request(in: try message.edited(["path": "/b"], memory)))
    #expect(head.head.path == "/b" && head.head.headerFields == Self.described)
    #expect(try await text(head.body) == "hello")
    let body = try #require(request(in: try message.edited(["body": "a new text"], memory)))
    #expect(body.head.headerFields == [.contentType: "text/plain", .eTag: "\"1\""] && body.head.path == "/a")
    #expect(try await text(body.body) == "a new text" && body.body.length == 10)
    // The request that arrived is unchanged.
    #expect(message.request.head.headerFields == Self.described)
    let continued = try #require(request(in: message.continued))
    #expect(continued.head == message.request.head)
    #expect(try await text(continued.body) == "hello")
  }

  @Test("a new body may be empty or have 4 MiB, and one byte more is refused")
  func limits() async throws {
    let message = try await paused(request())
    for count in [0, 4 << 20] {
      let body = String(repeating: "a", count: count)
      let edited = try #require(request(in: try message.edited(["body": .string(body)], memory)))
      #expect(edited.body.length == count)
    }
    let long = String(repeating: "a", count: (4 << 20) - 1) + "é"
    for json: JSON in [["body": .string(long)], ["status": 200, "body": .string(long)]] {
      let flaw = #expect(throws: EditFlaw.self) {
        if json["status"] == nil { _ = try message.edited(json, memory) } else { _ = try message.answer(json, memory) }
      }
      #expect(flaw == EditFlaw(.body, "the body is larger than 4 MiB"))
    }
  }

  @Test("the memory of new bodies counts while they are held, for edits of requests and responses, and for answers")
  func counted() async throws {
    let first = try await paused(request(.post, [:], .empty))
    let second = try await paused(request(.get), Response(status: .ok, body: .empty))
    var held: [PausedMessage.Decision] = []
    for count in 1...3 {
      switch count {
      case 1: held.append(try first.edited(["body": "1234567"], memory))
      case 2: held.append(try second.edited(["body": "1234567"], memory))
      default: held.append(try first.answer(["status": 200, "body": "1234567"], memory))
      }
      #expect(budget.held == 7 * count)
    }
    withExtendedLifetime(held) {}
    held = []
    #expect(budget.held == 0)
  }

  @Test("a refused edit holds no memory")
  func refusedEdit() async throws {
    let message = try await paused(request(.post, [:], .empty))
    for json: JSON in [
      ["body": "x", "path": "b"], ["body": "x", "fields": [["host", "b"]]], ["body": "x", "status": 200],
    ] {
      #expect(throws: EditFlaw.self) { try message.edited(json, memory) }
    }
    #expect(throws: EditFlaw.self) { try message.answer(["status": 200, "body": "x", "path": "/"], memory) }
    #expect(budget.held == 0)
  }

  @Test("HEAD cannot become another method nor another method HEAD, and others can become each other")
  func methods() async throws {
    let head = try await paused(request(.head, [:], .empty))
    let get = try await paused(request(.get, [:], .empty))
    for (message, method) in [(head, "GET"), (get, "HEAD")] {
      let flaw = #expect(throws: EditFlaw.self) { try message.edited(["method": .string(method)], memory) }
      #expect(flaw?.part == .method)
    }
    for (message, method) in [(head, "HEAD"), (get, "DELETE"), (get, "GET")] {
      #expect(try request(in: message.edited(["method": .string(method)], memory))?.head.method.rawValue == method)
    }
  }

  @Test("the placeholder of a secret in a new body is refused unless the body had one")
  func placeholder() async throws {
    let edit: JSON = ["body": "[redacted] b"]
    let plain = try await paused(request(.post, [:], Body("secret")))
    #expect(throws: EditFlaw.self) { try plain.edited(edit, memory) }
    let marked = try await paused(request(.post, [:], Body("a [redacted]")))
    #expect(try await text(request(in: try marked.edited(edit, memory))?.body) == "[redacted] b")
  }

  // MARK: Edits of responses

  @Test("an edited response has the length of its body, and a new body removes the fields of the old one")
  func responses() async throws {
    let given = Response(status: .ok, fields: Self.described, body: Body("hello"))
    let message = try await paused(request(.get), given)
    #expect(message.point == .response && message.fields == Self.described)
    let head = try #require(response(in: try message.edited(["status": 404], memory)))
    #expect(head.status == .notFound && head.fields[.contentDigest] == "y" && head.fields[.eTag] == "\"1\"")
    #expect(try await text(head.body) == "hello" && head.body.length == 5)
    let body = try #require(response(in: try message.edited(["body": "a new text"], memory)))
    #expect(body.status == .ok && body.fields[.contentType] == "text/plain" && body.fields[.eTag] == "\"1\"")
    for name in [HTTPField.Name.contentMD5, .contentDigest, .reprDigest] {
      #expect(body.fields[name] == nil, "\(name)")
    }
    #expect(body.fields[.contentLength] ?? "10" == "10")
    #expect(try await text(body.body) == "a new text")
    let continued = try #require(response(in: message.continued))
    #expect(continued.head == given.head)
    #expect(try await text(continued.body) == "hello")
  }

  @Test("the response to HEAD keeps its length, and loses it with a status without content")
  func headResponses() async throws {
    let given = Response(status: .ok, fields: [.contentLength: "12", .eTag: "\"1\""])
    let message = try await paused(request(.head, [:], .empty), given)
    for (status, length) in [(200, "12"), (404, "12"), (204, nil), (205, "0"), (304, nil)] {
      let edited = try #require(response(in: try message.edited(["status": .number(status)], memory)))
      #expect(edited.status.code == status && edited.fields[.contentLength] == length, "\(status)")
      #expect(edited.fields[.eTag] == "\"1\"" && edited.body.isKnownEmpty)
    }
  }

  @Test("an answer has a media type only if it has a body, and the user's if there is one")
  func answers() async throws {
    let message = try await paused(request())
    func answer(_ json: JSON) throws -> Response { try #require(response(in: try message.answer(json, memory))) }
    let empty = try answer(["status": 404])
    #expect(empty.status == .notFound && empty.fields[.contentType] == nil && empty.body.length == 0)
    let text = try answer(["status": 200, "body": "é"])
    #expect(text.fields[.contentType] == "text/plain; charset=utf-8")
    #expect(try await self.text(text.body) == "é")
    let typed = try answer([
      "status": 200, "body": "{}", "fields": [["content-type", "application/json"], ["x-a", "1"]],
    ])
    #expect(typed.fields[values: .contentType] == ["application/json"])
    #expect(typed.fields.map(\.name.canonicalName).filter { $0 != "content-length" } == ["content-type", "x-a"])
    #expect(typed.body.length == 2)
    // Nothing of the waiting message is in it.
    let other = try await paused(request(.get), Response(status: .ok, fields: Self.described, body: Body("hello")))
    let instead = try #require(response(in: try other.answer(["status": 503], memory)))
    #expect(instead.status.code == 503 && instead.fields[.eTag] == nil && instead.body.length == 0)
  }

  @Test("an answer without content has no body and length, and the answer to HEAD has no body", arguments: [204, 304])
  func answersWithoutContent(_ status: Int) async throws {
    let message = try await paused(request())
    let given = try #require(response(in: try message.answer(["status": .number(status), "body": "x"], memory)))
    #expect(given.fields[.contentLength] == nil && given.body.isKnownEmpty)
    let head = try await paused(request(.head, [:], .empty))
    let answer = try #require(response(in: try head.answer(["status": 200, "body": "x"], memory)))
    #expect(answer.body.isKnownEmpty)
  }
}
