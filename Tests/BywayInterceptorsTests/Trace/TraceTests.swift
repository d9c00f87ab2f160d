import Byway
import HTTPTypes
import Logging
import NIOCore
import Synchronization
import TestTools
import Testing
import TransportTestSupport

@testable import BywayInterceptors

@Suite struct TraceTests {
  @Test("a traced body streams through, and at most the limit of it is kept")
  func streams() async throws {
    let lines = TraceLines()
    let (chunks, sender) = AsyncStream.makeStream(of: ByteBuffer.self)
    let origin = TestOrigin { _ in
      Response(status: .ok, body: Body(chunks, length: 8, trailers: { [.init("x-sum")!: "1"] }))
    }
    let response = try await origin.behind(Trace(bodyLimit: 5, to: lines)).get("http://a/")
    #expect(response.body.length == 8)
    var body = response.body.makeAsyncIterator()
    for text in ["one ", "two "] {
      sender.yield(ByteBuffer(string: text))
      #expect(try await body.next().map { String(buffer: $0) } == text)
      #expect(lines.exchanges.isEmpty)
    }
    sender.finish()
    #expect(try await body.next() == nil)
    #expect(await response.body.trailers() == [.init("x-sum")!: "1"])
    let exchange = try #require(lines.exchanges.first)
    #expect(exchange.responseBody.length == 8)
    #expect(String(buffer: exchange.responseBody.kept) == "one t")
    #expect(exchange.failure == nil)
  }

  @Test("a traced request's URL is readable, including a tunnel's")
  func urls() {
    func url(_ method: HTTPRequest.Method, _ scheme: String?, _ authority: String, _ path: String?) -> String {
      let request = HTTPRequest(method: method, scheme: scheme, authority: authority, path: path)
      return TracedExchange(request: request, started: .zero).url
    }
    #expect(url(.get, "http", "a", "/b?c") == "http://a/b?c")
    #expect(url(.connect, nil, "a:443", nil) == "https://a:443/")
  }

  @Test("an exchange is recorded once, however it ends")
  func endings() async throws {
    struct Oops: Error {}
    let lines = TraceLines()
    let origin = TestOrigin { request in
      switch request.head.path {
      case "/fails": throw BywayError(.timedOut, "Too late.")
      case "/cut":
        let (chunks, sender) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
        sender.yield(ByteBuffer(string: "some"))
        sender.finish(throwing: Oops())
        return Response(status: .ok, body: Body(chunks))
      case "/empty": return Response(status: .noContent)
      default: return Response(status: .ok, body: Body("whole"))
      }
    }
    let chain = origin.behind(Trace(to: lines))
    await #expect(throws: BywayError.self) { try await chain.get("http://a/fails") }
    await #expect(throws: Oops.self) { try await chain.get("http://a/cut").text }
    _ = try await chain.get("http://a/empty")
    _ = try await chain.get("http://a/whole").text
    // Dropped before the end, and before the beginning.
    do {
      var body = try await chain.get("http://a/dropped").body.makeAsyncIterator()
      _ = try await body.next()
    }
    _ = try await chain.get("http://a/unread")
    let failures = lines.exchanges.map { ($0.failure ?? "").split(separator: " ").first ?? "" }
    #expect(failures == ["Too", "A", "", "", "The", "The"])
    #expect(lines.exchanges.map { $0.response?.status.code } == [nil, 200, 204, 200, 200, 200])
  }

  @Test("a repeated request body is recorded once")
  func replays() async throws {
    let lines = TraceLines()
    let origin = TestOrigin { request in
      for _ in 0..<2 { _ = try await request.body.collect(upTo: 100) }
      return Response(status: .ok)
    }
    let trace = Trace(bodyLimit: 100, to: lines)
    let request = try Request(.put, url: "http://a/", body: Body("content"))
    _ = try await origin.behind(trace)(request)
    #expect(lines.exchanges.first?.requestBody.length == 7)
    #expect(lines.exchanges.first.map { String(buffer: $0.requestBody.kept) } == "content")
  }

  @Test("secrets in fields, queries, forms, JSON and redirects do not reach a recorder")
  func redaction() async throws {
    let lines = TraceLines()
    let origin = TestOrigin { request in
      _ = try await request.body.collect(upTo: 100)
      var fields: HTTPFields = [
        .setCookie: "id=hidden1", .location: "http://b/?access_token=hidden2&x=1", .contentType: "application/json",
        .authenticationInfo: "rspauth=shown",
      ]
      fields[.init("x-csrf-token")!] = "hidden3"
      let body =
        #"{"user":"shown","password": "hidden4", "pin":1234567, "in":{"apiKey" : "hidden5\"hidden6"}, "a":["token"]}"#
      return Response(status: .ok, fields: fields, body: Body(body))
    }
    let chain = origin.behind(Trace(bodyLimit: 1000, to: lines))
    var request = try Request(
      .post, url: "http://a/?key=hidden7&q=shown", body: Body("user=shown&Pass%77ord=hidden8&x"))
    request.head.authority = "me:hidden9@a"
    request.head.headerFields = [
      .authorization: "Basic hiddenA", .cookie: "a=hiddenB", .contentType: "application/x-www-form-urlencoded",
      .referer: "http://a/?session=hiddenC",
    ]
    var marked = HTTPField(name: .userAgent, value: "hiddenD")
    marked.indexingStrategy = .disallow
    request.head.headerFields.append(marked)
    _ = try await chain(request).text

    let exchange = try #require(lines.exchanges.first)
    let bodies = String(buffer: exchange.requestBody.kept) + String(buffer: exchange.responseBody.kept)
    let text = "\(exchange.url) \(exchange.request.headerFields) \(exchange.response?.headerFields ?? [:]) \(bodies)"
    #expect(!text.contains("hidden"))
    #expect(!text.contains("1234567"))
    #expect(exchange.url == "http://a/?key=[redacted]&q=shown")
    #expect(exchange.request.headerFields[.authorization] == "Basic [redacted]")
    #expect(exchange.response?.headerFields[.location] == "http://b/?access_token=[redacted]&x=1")
    #expect(exchange.response?.headerFields[.authenticationInfo] == "rspauth=shown")
    #expect(
      bodies == "user=shown&Pass%77ord=[redacted]&x"
        + #"{"user":"shown","password": "[redacted]", "pin":"[redacted]", "in":{"apiKey" : "[redacted]"}, "#
        + #""a":["token"]}"#
    )
    // The origin receives what the caller sent.
    #expect(origin.heads.first?.headerFields == request.head.headerFields)
  }

  @Test(
    "secrets in unusual fields and positions are redacted",
    arguments: [
      ("authorization", "lonehidden", "[redacted]"), ("x-api-key", "hidden", "[redacted]"),
      ("location", "//me:hidden@b/x@y", "//b/x@y"),
      ("location", "/done#state=1&access_token=hidden", "/done#state=1&access_token=[redacted]"),
      ("referer", "http://a/?a=1?pass=hidden#code=hidden", "http://a/?a=1?pass=[redacted]#code=[redacted]"),
      ("location", "/a@b", "/a@b"), ("x-auth", "hidden", "[redacted]"), ("x-auth-key", "hidden", "[redacted]"),
      ("x-access-key", "hidden", "[redacted]"), ("x-pin", "hidden", "[redacted]"), ("x-otp", "hidden", "[redacted]"),
      ("dpop", "hidden", "[redacted]"), ("x-csrf-token", "hidden", "[redacted]"), ("x-csrf", "hidden", "[redacted]"),
      ("www-authenticate", "Negotiate hidden", "Negotiate [redacted]"),
      ("www-authenticate", "Digest realm=\"a\", nonce=\"b\"", "Digest realm=\"a\", nonce=\"b\""),
      ("sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.hidden", "[redacted]"),
      ("sec-websocket-protocol", "chat", "chat"), ("x-original-url", "/?token=hidden", "/?token=[redacted]"),
      ("link", "</x?token=hidden>; rel=next", "</x?token=[redacted]>; rel=next"),
      ("destination", "http://me:hidden@b/", "http://b/"), ("location", "/?to%256ben=hidden", "/?to%256ben=[redacted]"),
      ("location", "/?access_token%3dhidden", "/?[redacted]"), ("location", "/?pw=hidden", "/?pw=[redacted]"),
      ("x-author", "shown", "shown"), ("x-shipping", "shown", "shown"), ("www-authenticate", "Basic", "Basic"),
      ("location", "/a;jsessionid=hidden;x=1/b?c=1", "/a;jsessionid=[redacted]/b?c=1"),
      ("location", "/a;password=hidden", "/a;password=[redacted]"), ("location", "/a;v=1/b", "/a;v=1/b"),
      ("location", "/?a=1;password=hid;den&b=2", "/?a=1;password=[redacted]&b=2"),
      ("location", "/?token=hid;den&b=2", "/?token=[redacted]&b=2"),
      ("location", "/?user_pin=hidden&mapping=1", "/?user_pin=[redacted]&mapping=1"),
      ("location", "/?next=http://me:hidden@b/x&q=1", "/?next=[redacted]&q=1"),
      ("location", "/?next=http%3A%2F%2Fme%3Ahidden%40b%2Fx&q=1", "/?next=[redacted]&q=1"),
      ("location", "/?next=http%253A%252F%252Fme%253Ahidden%2540b", "/?next=[redacted]"),
      ("location", "/?next=http%3A%2F%2Fb%2F%3Ftoken%3Dhidden", "/?next=[redacted]"),
      ("location", "/?jwt=hidden", "/?jwt=[redacted]"), ("location", "/token/hidden/x", "/token/[redacted]/x"),
      ("location", "/reset_token/hidden?a=1", "/reset_token/[redacted]?a=1"), ("location", "/token", "/token"),
      ("location", "/tokens/7", "/tokens/7"), ("location", "/go/http%3A%2F%2Fme%3Ahidden%40b", "/go/[redacted]"),
      ("location", "/x%3Ftoken%3Dhidden", "/[redacted]"), ("location", "/caf%C3%A9%20x", "/caf%C3%A9%20x"),
      ("user-agent", "bot (+https://me:hidden@b/; x)", "bot (+https://b/; x)"),
      ("user-agent", "Mozilla/5.0 (X11; Linux)", "Mozilla/5.0 (X11; Linux)"),
      ("location", "/?next=http%3A%2F%2Fb%2F&mail=me@b", "/?next=http%3A%2F%2Fb%2F&mail=me@b"),
    ])
  func overlooked(_ name: String, _ value: String, _ shown: String) async throws {
    let lines = TraceLines()
    let name = try #require(HTTPField.Name(name))
    _ = try await TestOrigin().behind(Trace(to: lines)).get("http://a/", [name: value])
    #expect(lines.exchanges.first?.request.headerFields[name] == shown)
  }

  @Test(
    "a secret JSON value is redacted as a whole, at any depth",
    arguments: [
      (#"{"tokens":["hidden",{"a":"]hidden"}],"b":1}"#, #"{"tokens":"[redacted]","b":1}"#),
      (#"{"session":{"id":"hidden"},"b":[{"pin":12}]}"#, #"{"session":"[redacted]","b":[{"pin":"[redacted]"}]}"#),
      (#"["password","shown"]"#, #"["password","shown"]"#), (#"{"secret":null}"#, #"{"secret":"[redacted]"}"#),
      (#"{"secret":["hid"#, #"{"secret":"[redacted]""#), ("no json \" at", "no json \" at"),
      (#"{"access_\u0074oken":"hidden"}"#, #"{"access_\u0074oken":"[redacted]"}"#),
      (#"{"code":"invalidRequest"}"#, #"{"code":"invalidRequest"}"#),
      (#"{"a":"{\"password\":\"hidden\",\"b\":1}","c":2}"#, #"{"a":"{\"password\":\"[redacted]\",\"b\":1}","c":2}"#),
      (
        #"["{\"a\":\"{\\\"token\\\":\\\"hidden\\\"}\"}"]"#,
        #"["{\"a\":\"{\\\"token\\\":\\\"[redacted]\\\"}\"}"]"#
      ),
      (#"{"a":"{\u0022pin\u0022:1}"}"#, #"{"a":"{\"pin\":\"[redacted]\"}"}"#),
      (#"{"{\"secret\":\"hidden\"}":1}"#, #"{"{\"secret\":\"[redacted]\"}":"[redacted]"}"#),
      (#"{"a":"{\"secret\":\"hid"#, #"{"a":"{\"secret\":\"[redacted]\""#),
      (#"{"a":"say \"shown\"","b":"c\\"}"#, #"{"a":"say \"shown\"","b":"c\\"}"#),
      (#"{"a":"<b><Password>hidden</Password></b>"}"#, #"{"a":"<b><Password>[redacted]</Password></b>"}"#),
    ])
  func json(_ text: String, _ shown: String) async throws {
    let lines = TraceLines()
    let origin = TestOrigin { _ in
      Response(status: .ok, fields: [.contentType: "application/json"], body: Body(text))
    }
    _ = try await origin.behind(Trace(bodyLimit: 1000, to: lines)).get("http://a/").text
    #expect(lines.exchanges.first.map { String(buffer: $0.responseBody.kept) } == shown)
  }

  @Test(
    "secrets in JSON without a content type, in lines, or compressed are redacted",
    arguments: [
      ("text/plain", #"{"token":"hidden"}"#, #"{"token":"[redacted]"}"#),
      ("", #" [{"token":"hidden"}]"#, #" [{"token":"[redacted]"}]"#),
      (
        "text/event-stream", "data: it\"s\ndata: {\"token\":\"hidden\"}\n\n",
        "data: it\"s\ndata: {\"token\":\"[redacted]\"}\n\n"
      ),
      ("application/x-ndjson", "{\"a\":1}\n{\"pin\":2}\n", "{\"a\":1}\n{\"pin\":\"[redacted]\"}\n"),
      ("application/xml", "<a><Password>hidden</Password></a>", "<a><Password>[redacted]</Password></a>"),
      ("application/soap+xml", "<s:Pin n='1'>hidden</s:Pin>", "<s:Pin n='1'>[redacted]</s:Pin>"),
      (
        "text/plain", " <?xml version='1.0'?>\n<token\n>hidden\n</token>",
        " <?xml version='1.0'?>\n<token\n>[redacted]</token>"
      ),
      ("text/plain", "data: <pin>hidden</pin>\nx < y", "data: <pin>[redacted]</pin>\nx < y"),
      ("text/html", "<token>shown</token>", "<token>shown</token>"),
      ("text/plain", "a {brace}\nand \"text\"", "a {brace}\nand \"text\""),
      ("image/png", #"{"token":"shown"}"#, #"{"token":"shown"}"#),
    ])
  func undeclared(_ type: String, _ text: String, _ shown: String) async throws {
    for isCompressed in [false, true] {
      let lines = TraceLines()
      let origin = TestOrigin { _ in
        var fields: HTTPFields = type.isEmpty ? [:] : [.contentType: type]
        if isCompressed { fields[.contentEncoding] = "gzip" }
        return Response(
          status: .ok, fields: fields, body: Body(isCompressed ? try Self.gzipped(text) : ByteBuffer(string: text)))
      }
      _ = try await origin.behind(Trace(bodyLimit: 1000, to: lines)).get("http://a/").body.collect(upTo: 1000)
      let kept = try #require(lines.exchanges.first?.responseBody.kept)
      #expect(try String(buffer: kept) == shown || isCompressed && text == shown && kept == Self.gzipped(text))
    }
  }

  private static func gzipped(_ text: String) throws -> ByteBuffer {
    let encoder = GzipEncoder()
    var (input, output) = (ByteBuffer(string: text), ByteBuffer())
    try encoder.code(&input, into: &output)
    try encoder.finish(into: &output)
    return output
  }

  @Test("a body in an unsupported coding is not recorded if it may contain secrets")
  func otherCoding() async throws {
    for (type, count) in [("application/json", 0), ("image/png", 4)] {
      let lines = TraceLines()
      let origin = TestOrigin { _ in
        Response(status: .ok, fields: [.contentType: type, .contentEncoding: "br"], body: Body("abcd"))
      }
      _ = try await origin.behind(Trace(bodyLimit: 1000, to: lines)).get("http://a/").body.collect(upTo: 1000)
      #expect(lines.exchanges.first?.responseBody.kept.readableBytes == count)
    }
  }

  @Test("secrets in truncated JSON are redacted")
  func cutJSON() async throws {
    let text = #"{"password":"hidden","b":{"secret" :"hidden"}}"#
    for limit in 1...text.utf8.count {
      let lines = TraceLines()
      let origin = TestOrigin { _ in
        Response(status: .ok, fields: [.contentType: "application/problem+json"], body: Body(text))
      }
      _ = try await origin.behind(Trace(bodyLimit: limit, to: lines)).get("http://a/").text
      let kept = try #require(lines.exchanges.first?.responseBody.kept)
      #expect(!String(buffer: kept).contains("hi"))
    }
  }

  @Test("the log has one line for each exchange, and a warning for a failed one")
  func log() async throws {
    let lines = LogRecord()
    let origin = TestOrigin { request in
      if request.head.path == "/lost" { throw BywayError(.linkLost, "The link was lost.") }
      return Response(status: .ok, body: Body("12345"))
    }
    let chain = origin.behind(Trace(to: LogRecorder(lines.logger)))
    _ = try await chain.get("http://a/?token=hidden").text
    _ = try? await chain.get("http://a/lost")
    #expect(lines.all.count == 2)
    #expect(lines.all.first?.hasPrefix("info GET http://a/?token=[redacted]: 200") == true)
    #expect(lines.all.first?.contains("received=5") == true)
    #expect(lines.all.last?.hasPrefix("warning GET http://a/lost: no answer") == true)
  }
}
