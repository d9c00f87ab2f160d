import Byway
import BywayInterceptors
import BywayLineLayer
import BywayPrimitives
import Foundation
import HTTPTypes
import NIOCore
import TestTools
import Testing

@testable import BywayInspector

/// The inspector's API for programs and its page.
@Suite("API of the inspector", .timeLimit(.minutes(1))) struct InspectorFeedTests {
  @Test("an exchange has its fields at both sides of the proxy and its bodies, without secrets")
  func detail() async throws {
    let house = try await InspectedProxy { request in
      let body = try await request.body.collect(upTo: 1000)
      return Response(
        status: .ok, fields: [.contentType: "application/json; charset=utf-8", .setCookie: "id=1"], body: Body(body))
    }
    var request = try Request(.post, url: "http://localhost/a?token=abc", body: Body(#"{"pin":"1234","a":1}"#))
    request.head.headerFields = [.contentType: "application/json", .cookie: "x=y", .accept: "*/*"]
    _ = try await house.client.execute(request).body.collect(upTo: 1000)
    let exchange = try #require(try await house.exchanges().first)
    #expect(exchange["path"]?.text == "/a?token=[redacted]" && exchange["state"]?.text == "done")
    #expect(exchange["type"]?.text == "application/json" && exchange["status"] == .number(200))
    #expect(exchange["requestBytes"] == .number(20) && exchange["responseBytes"] == .number(20))
    for phase in ["begun", "sent", "requestEnded", "answered", "ended"] { #expect(exchange[phase] != nil, "\(phase)") }

    let detail = try await house.json("/api/exchanges/1")
    #expect(try Self.schema.problems(of: detail, as: "exchange") == [])
    #expect(try await Self.schema.problems(of: house.json("/api/exchanges")) == [])
    let asked = detail["requestFields"]?.elements ?? []
    #expect(asked.contains { $0["name"]?.text == "accept" && $0["value"]?.text == "*/*" && $0["secret"] == nil })
    #expect(asked.contains { $0["name"]?.text == "cookie" && $0["value"] == nil && $0["secret"]?.isTrue == true })
    let answered = detail["responseFields"]?.elements ?? []
    #expect(answered.contains { $0["name"]?.text == "via" && $0["mark"]?.text == "added" }, "\(answered)")
    #expect(answered.contains { $0["name"]?.text == "set-cookie" && $0["value"] == nil })
    #expect(detail["responseBody"]?["whole"]?.isTrue == true)
    let body = try await house.ask(.get, "/api/exchanges/1/response-body")
    #expect(body.text == #"{"pin":"[redacted]","a":1}"#)
    #expect(body.fields[.contentType] == "application/octet-stream" && body.fields[.contentDisposition] == "attachment")
    #expect(!"\(detail)".contains("1234") && !"\(detail)".contains("x=y"))
    await house.stop()
  }

  static var schema: SchemaCheck {
    get throws {
      let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../docs/inspector.schema.json")
      return SchemaCheck(try #require(JSON(parsing: String(contentsOf: file, encoding: .utf8))))
    }
  }

  @Test("the client's fields are shown as received, with the proxy's additions marked")
  func asked() async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok) }
    var request = try Request(url: "http://localhost/")
    request.head.headerFields[try #require(HTTPField.Name("via"))] = "1.1 before"
    _ = try await house.client.execute(request).body.collect(upTo: 10)
    let vias = try await house.json("/api/exchanges/1")["requestFields"]?.elements.filter { $0["name"]?.text == "via" }
    let via = try #require(vias?.first)
    #expect(vias?.count == 1 && via["mark"]?.text == "changed" && via["was"]?.text == "1.1 before", "\(via)")
    #expect(via["value"]?.text?.hasPrefix("1.1 before, 2.0 byway-proxy-") == true, "\(via)")
    await house.stop()
  }

  @Test("a long path is shortened in the list, and complete in the exchange itself")
  func longPath() async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok) }
    let path = "/" + String(repeating: "a", count: 5000)
    _ = try await house.client.get("http://localhost\(path)").body.collect(upTo: 10)
    let listed = try await house.exchanges().first?["path"]?.text
    #expect(listed?.hasPrefix("/aaa") == true && listed?.hasSuffix("…") == true && listed?.utf8.count ?? 0 < 1100)
    #expect(try await house.json("/api/exchanges/1")["path"]?.text == path)
    await house.stop()
  }

  @Test("a long list of exchanges arrives in several parts, complete and in order")
  func pieces() async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok) }
    for _ in 0..<450 { _ = try await house.client.get("http://localhost/").body.collect(upTo: 10) }
    #expect(try await house.exchanges().compactMap { $0["id"] } == (1...450).map { .number($0) })
    await house.stop()
  }

  @Test(
    "unread responses are limited to 8, plus 4 with the token, and a released one frees its slot",
    arguments: [
      "/api/exchanges", "/api/links", "/api/faults", "/api/exchanges/1", "/api/exchanges/1/response-body",
      "/api/events",
    ])
  func unread(_ path: String) async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok, body: Body("x")) }
    _ = try await house.client.get("http://localhost/").body.collect(upTo: 10)
    func ask(_ suffix: String = "", _ fields: HTTPFields = [:]) async throws -> Response {
      try await house.feed.respond(
        to: Request(
          HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: path + suffix, headerFields: fields)))
    }
    let token = HTTPField.Name("byway-token").map { [$0: house.feed.token] as HTTPFields } ?? [:]
    let wrong = HTTPField.Name("byway-token").map { [$0: "wrong"] as HTTPFields } ?? [:]
    var held: [Response] = []
    for _ in 0..<8 { held.append(try await ask()) }
    #expect(held.allSatisfy { $0.status == .ok })
    #expect(try await ask().status == .serviceUnavailable)
    #expect(try await ask("", wrong).status == .serviceUnavailable)
    #expect(try await ask("?token=\(house.feed.token)").status == (path == "/api/events" ? .ok : .serviceUnavailable))
    for _ in 0..<4 { held.append(try await ask("", token)) }
    #expect(held.allSatisfy { $0.status == .ok })
    #expect(try await ask("", token).status == .serviceUnavailable)
    held = []
    #expect(try await ask().status == .ok)
    await house.stop()
  }

  @Test(
    "a connection gets at most 2 event streams and 4 other unread responses, plus 4 of each with the token",
    arguments: [("/api/events", 2), ("/api/exchanges", 4)])
  func slotsOfOne(_ path: String, _ limit: Int) async throws {
    final class Connection: Sendable {}
    let house = try await InspectedProxy { _ in Response(status: .ok) }
    let token = try [#require(HTTPField.Name("byway-token")): house.feed.token] as HTTPFields
    func ask(on connection: Connection, _ fields: HTTPFields = [:]) async throws -> Response {
      var request = Request(
        HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: path, headerFields: fields))
      request.client = ObjectIdentifier(connection)
      return try await house.feed.respond(to: request)
    }
    let (one, other) = (Connection(), Connection())
    var held: [Response] = []
    for _ in 0..<limit { held.append(try await ask(on: one)) }
    #expect(held.allSatisfy { $0.status == .ok })
    #expect(try await ask(on: one).status == .serviceUnavailable)
    for _ in 0..<limit { held.append(try await ask(on: other)) }
    for _ in 0..<4 { held.append(try await ask(on: one, token)) }
    #expect(held.allSatisfy { $0.status == .ok })
    #expect(try await ask(on: one, token).status == .serviceUnavailable)
    held = []
    #expect(try await ask(on: one).status == .ok)
    withExtendedLifetime((one, other)) {}
    await house.stop()
  }

  @Test(
    "responses of the inspector cannot be read by other web pages",
    arguments: ["/", "/main.js", "/api/exchanges", "/api/nothing", "/api/har", "/none"])
  func isolated(_ path: String) async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok) }
    let fields = try await house.ask(.get, path).fields
    for (name, value) in [
      ("cross-origin-opener-policy", "same-origin"), ("cross-origin-resource-policy", "same-origin"),
      ("referrer-policy", "no-referrer"), ("x-frame-options", "DENY"), ("x-content-type-options", "nosniff"),
    ] {
      #expect(try fields[#require(HTTPField.Name(name))] == value, "\(name)")
    }
    #expect(fields[.contentSecurityPolicy]?.contains("frame-ancestors 'none'") == true)
    let cleared = try await house.ask(.post, "/api/clear", token: house.feed.token)
    #expect(try cleared.status == 204 && cleared.fields[#require(HTTPField.Name("referrer-policy"))] == "no-referrer")
    await house.stop()
  }

  @Test("links are listed with statistics of their lines, according to the schema")
  func links() async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok) }
    var line = LineStatistics()
    for (state, sent) in [("up", 10), ("up", 30), ("interrupted", 30)] as [(String, UInt64)] {
      line.sentBytes = sent
      house.feed.look([
        LinkSnapshot(
          name: "printer", address: "serial:/dev/x", state: state, since: 1, reason: "pulled", running: 0, openings: 1,
          losses: 0, line: line)
      ])
    }
    let links = try await house.json("/api/links")
    #expect(try Self.schema.problems(of: links, as: "links") == [])
    let link = try #require(links["links"]?.elements.first)
    #expect(link["samples"]?.elements.map { $0.elements[1] } == [.number(20)])
    #expect(link["events"]?.elements.map { $0["kind"]?.text } == ["interrupted"])
    await house.stop()
  }

  @Test("the page is served with all its parts, and its policy allows no external resources")
  func page() async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok) }
    let page = try await house.ask(.get, "/")
    #expect(
      page.text.contains("<title>Byway inspector</title>") && page.fields[.contentType] == "text/html; charset=utf-8")
    #expect(page.fields[.contentSecurityPolicy]?.contains("default-src 'none'") == true)
    var names: Set<String> = ["main.js", "style.css"]
    var rest = ["main.js"]
    while let name = rest.popLast() {
      let script = try await house.ask(.get, "/\(name)")
      #expect(script.status == 200, "\(name)")
      for match in script.text.matches(of: /from "\.\/([a-z]+\.js)"/) where names.insert(String(match.1)).inserted {
        rest.append(String(match.1))
      }
    }
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../Sources/BywayInspector/Page")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(names == Set(files).subtracting(["index.html"]))
    #expect(try await house.ask(.get, "/other.js").status == 404)
    await house.stop()
  }

  @Test("the event stream has changes, resumes at a position, and resets the position of another process")
  func events() async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok, body: Body("x")) }
    _ = try await house.client.get("http://localhost/1").body.collect(upTo: 10)
    let first = try await house.events(1)
    #expect(first.contains("event: exchanges\n") && first.contains("\"/1\""), "\(first)")
    let last = try #require(try await house.json("/api/exchanges")["last"]?.text)
    _ = try await house.client.get("http://localhost/2").body.collect(upTo: 10)
    let next = try await house.events(1, after: last)
    #expect(next.contains("\"/2\"") && !next.contains("\"/1\""), "\(next)")
    _ = try await house.ask(.post, "/api/clear", token: house.feed.token)
    #expect(try await house.events(1, after: last).contains("event: gone"))
    #expect(try await house.events(1, after: "0-7").contains("event: reset"))
    #expect(try await house.events(1, after: "nonsense").contains("event: reset"))
    await house.stop()
  }

  @Test("a failure has its cause and advice")
  func failure() async throws {
    let house = try await InspectedProxy { _ in throw BywayError(.originUnavailable, "Nobody is there.") }
    let status = try await house.client.get("http://localhost/").status
    let exchange = try #require(try await house.exchanges().first)
    #expect(exchange["status"] == .number(status.code) && status.code >= 500)
    // The gateway has answered in place of its origin.
    #expect(exchange["state"]?.text == "done")
    await house.stop()
    _ = try? await house.client.get("http://localhost/")
  }

  @Test("an action requires the token")
  func token() async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok) }
    _ = try await house.client.get("http://localhost/").body.collect(upTo: 10)
    for path in ["/api/clear", "/api/exchanges/1/resend", "/api/exchanges/1/stub"] {
      #expect(try await house.ask(.post, path).status == 403, "\(path)")
      #expect(try await house.ask(.post, path, token: "wrong").status == 403, "\(path)")
    }
    #expect(try await house.ask(.get, "/api/har").status == 403)
    #expect(try await house.exchanges().count == 1)
    #expect(try await house.ask(.post, "/api/clear", token: house.feed.token).status == 204)
    #expect(try await house.exchanges().isEmpty)
    #expect(try await house.ask(.post, "/api/nothing", token: house.feed.token).status == 404)
    #expect(try await house.ask(.delete, "/api/clear", token: house.feed.token).status == 405)
    await house.stop()
  }

  @Test("an exchange is sent again, unchanged or edited, and the repetition is an exchange of its own")
  func resend() async throws {
    let house = try await InspectedProxy { request in
      let body = String(buffer: try await request.body.collect(upTo: 1000))
      let secret = request.head.headerFields[.cookie] ?? "-"
      return Response(status: .ok, body: Body("\(request.head.method) \(request.head.path ?? "") \(secret) \(body)"))
    }
    var request = try Request(.post, url: "http://localhost/a", body: Body("hello"))
    request.head.headerFields = [.cookie: "x=y"]
    _ = try await house.client.execute(request).body.collect(upTo: 1000)
    let token = house.feed.token
    for (changes, said) in [
      ("{}", "POST /a x=y hello"), (#"{"method":"PUT","path":"/b","body":"YnllIQ=="}"#, "PUT /b x=y bye!"),
      (#"{"fields":[["accept","a"]]}"#, "POST /a - hello"), (#"{"fields":[["cookie"]]}"#, "POST /a x=y hello"),
    ] {
      let answer = try await house.ask(.post, "/api/exchanges/1/resend", changes, token: token)
      let id = try #require(JSON(parsing: answer.text)?["id"], "\(answer.text)")
      let path = "/api/exchanges/\(id)"
      #expect(try await eventually { try await house.json(path)["state"]?.text == "done" })
      #expect(try await house.ask(.get, "\(path)/response-body").text == said)
      #expect(try await house.json(path)["resends"] == .number(1))
    }
    for changes in [
      "[]", #"{"path":"a b"}"#, #"{"method":"CONNECT"}"#, #"{"method":"connect"}"#, #"{"fields":[[]]}"#,
      #"{"body":"?"}"#, #"{"fields":[["a","b\r\nc"]]}"#, #"{"fields":{"a":1}}"#, #"{"fields":"a"}"#,
      #"{"fields":[["host","elsewhere"]]}"#,
    ] {
      #expect(try await house.ask(.post, "/api/exchanges/1/resend", changes, token: token).status == 400, "\(changes)")
    }
    await house.stop()
  }

  @Test("an exchange becomes a stub rule with the same response, if text can express it")
  func stub() async throws {
    let house = try await InspectedProxy(bodyLimit: 8) { request in
      switch request.head.path {
      case "/text": Response(status: .ok, fields: [.contentType: "text/plain"], body: Body("a\nb"))
      case "/long": Response(status: .ok, body: Body("longer than kept"))
      default: Response(status: .ok, body: Body(ByteBuffer(bytes: [0xFF, 0xFE])))
      }
    }
    for path in ["/text", "/long", "/bytes"] {
      _ = try await house.client.get("http://localhost\(path)").body.collect(upTo: 100)
    }
    let token = house.feed.token
    #expect(
      try await house.ask(.post, "/api/exchanges/1/stub", token: token).text
        == "### GET /text\nHTTP/1.1 200\ncontent-type: text/plain\ncontent-length: 3\n\na\nb\n")
    #expect(try await house.ask(.post, "/api/exchanges/2/stub", token: token).status == 409)
    #expect(try await house.ask(.post, "/api/exchanges/3/stub", token: token).status == 409)
    await house.stop()
  }

  @Test("a stub rule for a request with a secret in its path matches any value of the secret")
  func stubOfSecret() async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok) }
    _ = try await house.client.get("http://localhost/status?a=1&token=hidden&b=2").body.collect(upTo: 100)
    let text = try await house.ask(.post, "/api/exchanges/1/stub", token: house.feed.token).text
    #expect(text.hasPrefix("### GET /status?a=1&token=*\n"), "\(text)")
    let rule = try #require(try StubFileParser(text, path: "s", folder: "/").rules().first)
    for (path, fits) in [("/status?a=1&token=other&b=2", true), ("/status?a=2&token=hidden&b=2", false)] {
      #expect(rule.fits(HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: path)) == fits)
    }
    await house.stop()
  }

  @Test("the HTTP archive has all exchanges, with additional data in _byway and without secrets")
  func archive() async throws {
    let house = try await InspectedProxy { _ in Response(status: .ok, body: Body("x")) }
    _ = try await house.client.get("http://localhost/1?key=secret").body.collect(upTo: 10)
    var head = HTTPRequest(method: .get, scheme: "http", authority: "localhost:4040", path: "/api/har")
    head.headerFields[try #require(HTTPField.Name("byway-token"))] = house.feed.token
    let response = try await house.feed.respond(to: Request(head))
    let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
    let entry = try #require(JSON(parsing: text)?["log"]?["entries"]?.elements.first)
    #expect(entry["request"]?["url"]?.text == "http://localhost/1?key=[redacted]")
    #expect(entry["_byway"]?["id"] == .number(1) && !text.contains("secret"))
    await house.stop()
  }
}
