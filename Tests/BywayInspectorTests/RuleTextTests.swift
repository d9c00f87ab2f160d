import BywayInterceptors
import BywayPrimitives
import HTTPTypes
import NIOCore
import Testing

@testable import Byway
@testable import BywayInspector

/// The JSON format of rules, and exchanges as stub rules.
@Suite("Text of rules in the inspector") struct RuleTextTests {
  private func rules() -> (InspectorActions, InspectorRules) {
    let rules = InspectorRules(of: Inspector(bodyLimit: 100))
    return (InspectorActions(send: nil, rules: rules), rules)
  }

  @Test(
    "a fault rule is listed as it was written, with its limits",
    arguments: [
      #""delay":1"#, #""delay":3600000"#, #""rate":1"#, #""rate":1000000000"#, #""status":200"#, #""status":599"#,
      #""cut":0"#, #""cut":2147483647"#, #""method":"GET","host":"a.example","path":"/x","delay":20"#,
      #""host":"*.example.com","rate":9"#, #""method":"PURGE","cut":1"#,
    ])
  func faults(_ members: String) throws {
    let (actions, rules) = rules()
    try rules.faults.list.add(RuleText.faultRule("{\(members)}"))
    #expect("\(RuleText.list(actions)["faults"] ?? .null)" == #"[{"id":1,"hits":0,\#(members)}]"#)
  }

  @Test(
    "a number below or above the limits of a fault rule is refused",
    arguments: [
      (#"{"delay":0}"#, "delay"), (#"{"delay":3600001}"#, "delay"), (#"{"rate":0}"#, "rate"),
      (#"{"rate":1000000001}"#, "rate"), (#"{"status":199}"#, "status"), (#"{"status":600}"#, "status"),
      (#"{"cut":-1}"#, "cut"), (#"{"cut":2147483648}"#, "cut"), (#"{"delay":1.5}"#, "delay"), (#"{"cut":true}"#, "cut"),
    ])
  func outOfRange(_ text: String, _ name: String) {
    let error = #expect(throws: BywayError.self) { try RuleText.faultRule(text) }
    #expect(error?.code == .invalidRequest)
    #expect(error?.message.contains(": \(name) must be a number from ") == true, "\(error?.message ?? "")")
  }

  @Test(
    "a breakpoint is listed as it was written",
    arguments: [
      #""on":"request""#, #""method":"POST","host":"a.example","path":"/x","on":"response","status":"404""#,
      #""on":"response","status":"200""#, #""on":"response","status":"599""#, #""on":"response","status":"3xx""#,
    ])
  func breakpoints(_ members: String) throws {
    let (actions, rules) = rules()
    for _ in 1...2 { try rules.breakpoints.list.add(RuleText.breakpoint("{\(members)}")) }
    #expect(
      "\(RuleText.list(actions)["breakpoints"] ?? .null)"
        == #"[{"id":1,"hits":0,\#(members)},{"id":2,"hits":0,\#(members)}]"#)
  }

  @Test(
    "a status of a breakpoint that no response has is refused",
    arguments: ["199", "600", "0xx", "xx", "40", "4000", "20x", ""])
  func noStatus(_ status: String) {
    let error = #expect(throws: BywayError.self) {
      try RuleText.breakpoint(#"{"on":"response","status":"\#(status)"}"#)
    }
    #expect(error?.message.contains("status must be a status from 200 to 599") == true)
  }

  @Test("each condition of a rule counts: the method, the host and the path")
  func conditions() throws {
    let rule = try RuleText.breakpoint(#"{"method":"POST","host":"*.example.com","path":"/a","on":"request"}"#)
    let head = HTTPRequest(method: .post, scheme: "http", authority: "x.example.com", path: "/a/b")
    #expect(rule.matches(head))
    var others = [head, head, head, head]
    others[0].method = .get
    others[1].authority = "example.com"
    others[2].path = "/ab"
    others[3].path = "/"
    for other in others { #expect(!rule.matches(other), "\(other)") }
  }

  @Test("only the first of several matching rules counts")
  func first() throws {
    let (actions, rules) = rules()
    for path in ["/b", "/a", "/a"] {
      try rules.breakpoints.list.add(RuleText.breakpoint(#"{"path":"\#(path)","on":"request"}"#))
    }
    let head = HTTPRequest(method: .get, scheme: "http", authority: "a", path: "/a")
    for _ in 1...2 { #expect(rules.breakpoints.list.first(for: head) != nil) }
    #expect(RuleText.list(actions)["breakpoints"]?.elements.map { $0["hits"] } == [0, 2, 0])
  }

  // MARK: Stubs

  private func traced(
    _ status: Int?, _ body: String, _ fields: HTTPFields = [:], method: HTTPRequest.Method = .get, path: String? = "/a"
  ) -> TracedExchange {
    var exchange = TracedExchange(
      request: HTTPRequest(method: method, scheme: "http", authority: "localhost", path: path), started: .zero)
    exchange.response = status.map { HTTPResponse(status: .init(code: $0), headerFields: fields) }
    exchange.responseBody.kept = ByteBuffer(string: body)
    exchange.responseBody.keptLength = body.utf8.count
    exchange.responseBody.length = body.utf8.count
    return exchange
  }

  private func answer(of text: String) async throws -> Response {
    let stubs = LiveStubs()
    try stubs.list.add(LiveStub(text))
    return try await Next([stubs]) { _ in throw CancellationError() }(Request(url: "http://localhost/a"))
  }

  @Test(
    "a stub gives the same body",
    arguments: [
      "", "a", "a\n", "\n", "\n\n", "a\n\n", "\na", "a\r\nb\r\n", "\r\n", "<html>", "# a\n", "## b", "é", " a ",
      "HTTP/1.1 200",
      "a ### b", "< a\n", "<a", "a\n< b", "a: b\n\nc",
    ])
  func sameBody(_ body: String) async throws {
    let response = try await answer(of: try StubText.of(traced(200, body)))
    #expect(String(buffer: try await response.body.collect(upTo: 1000)) == body)
  }

  private func lines(_ fields: HTTPFields) -> [String] { fields.map { "\($0.name.canonicalName): \($0.value)" } }

  @Test("a stub has the status and the fields of the response, without those of its transmission")
  func sameHead() async throws {
    var fields: HTTPFields = [.contentType: "text/plain", .setCookie: "a=b", .eTag: "\"1\""]
    fields.append(HTTPField(name: .setCookie, value: "c=d"))
    let kept = fields
    for name in [
      "via", "date", "age", "connection", "transfer-encoding", "content-length", "proxy-status", "server-timing",
      "cache-status",
    ] {
      fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: "1"))
    }
    for status in [200, 404, 599] {
      let response = try await answer(of: try StubText.of(traced(status, "x", fields)))
      #expect(response.status.code == status)
      let given = response.fields.filter { $0.name != .contentLength }
      #expect(lines(HTTPFields(given)) == lines(kept) && response.fields[.contentLength] == "1")
    }
    #expect(try StubText.of(traced(204, "", [.eTag: "1"])) == "### GET /a\nHTTP/1.1 204\netag: 1\n\n")
  }

  @Test(
    "the first line of a stub has the method and the path, and a star in the path is no pattern",
    arguments: [
      (HTTPRequest.Method.post, "/a?b", "POST /a?b"), (.get, "/a*", "GET /a%2A"), (.get, "/a**", "GET /a*%2A"),
      (.get, "/*a", "GET /*a"), (.get, "/a?t=[redacted]&b*", "GET /a?t=*"),
      (.get, "/a?t=[redacted]&u=[redacted]", "GET /a?t=*"),
    ])
  func pattern(_ method: HTTPRequest.Method, _ path: String?, _ line: String) throws {
    let text = try StubText.of(traced(200, "x", method: method, path: path))
    #expect(text.hasPrefix("### \(line)\nHTTP/1.1 200\n"), "\(text)")
    #expect(try StubText.of(traced(200, "x", method: method, path: nil)).hasPrefix("### \(method) /\n"))
  }

  @Test("an exchange that a stub cannot express is refused with the reason")
  func inexpressible() {
    func reason(_ exchange: TracedExchange) -> String? {
      do {
        _ = try StubText.of(exchange)
        return nil
      } catch {
        #expect(BywayError(error).code == .unsupported)
        return BywayError(error).message
      }
    }
    #expect(reason(traced(nil, "")) == "It cannot be a stub: it has no answer.")
    #expect(
      reason(traced(199, ""))?.contains("no answer") == true && reason(traced(101, ""))?.contains("no answer") == true)
    for (kept, words) in [
      (0, "its answer of 9 bytes is no longer kept"), (8, "only 8 of 9 bytes of the answer were kept"),
    ] {
      var partial = traced(200, String(repeating: "x", count: kept))
      partial.responseBody.length = 9
      #expect(reason(partial)?.contains(words) == true)
    }
    for body in ["###", "a\n### b", "a\n\n###", "### GET /\n"] {
      #expect(reason(traced(200, body))?.contains("is not text") == true, "\(body)")
    }
    var bytes = traced(200, "xx")
    bytes.responseBody.kept = ByteBuffer(bytes: [0xFF, 0xFE])
    #expect(reason(bytes)?.contains("is not text") == true)
  }
}
