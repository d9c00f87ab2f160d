import BywayHTTP1Session
import BywayHTTPWire
import HTTP1Checks
import NIOCore
import Testing

@Suite("Head of a request (RFC 9112 §3 and §5)")
struct RequestHeadTests {
  @Test("if a target is in origin form, Host becomes the authority")
  func originForm() throws {
    let head = try #require(
      try readRequestHead("GET /a//b?c=%20&d HTTP/1.1\r\nAccept: */*\r\nhOST: Box.Local:8080\r\n\r\n"))
    #expect(
      head.fields == [":method": "GET", ":path": "/a//b?c=%20&d", "accept": "*/*", ":authority": "Box.Local:8080"])
    #expect(head.targetForm == .origin)
    #expect(head.framing == .none)
    #expect(head.keepAlive)
    #expect(head.kind == .ordinary)
  }

  @Test(
    "if a target is in absolute form, it overrides Host",
    arguments: [
      ("GET http://h:81/p?q HTTP/1.1", ":scheme http :authority h:81 :path /p?q"),
      ("GET HTTPS://h HTTP/1.1", ":scheme https :authority h :path /"),
      ("GET http://h?q HTTP/1.1", ":scheme http :authority h :path /?q"),
      ("GET http://[::1]:80/ HTTP/1.1", ":scheme http :authority [::1]:80 :path /"),
      ("OPTIONS http://h HTTP/1.1", ":scheme http :authority h :path *"),
      ("OPTIONS http://h/ HTTP/1.1", ":scheme http :authority h :path /"),
    ])
  func absoluteForm(_ line: String, _ expected: String) throws {
    let head = try #require(try readRequestHead("\(line)\r\nHost: elsewhere\r\n\r\n"))
    let text = head.fields.lines.dropFirst().map { "\(head.fields.name(of: $0)) \(head.fields.value(of: $0))" }
    #expect(text.joined(separator: " ") == expected)
    #expect(head.targetForm == .absolute)
  }

  @Test("CONNECT is parsed in authority form")
  func authorityForm() throws {
    let head = try #require(try readRequestHead("CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\nContent-Length: 0\r\n\r\n"))
    #expect(head.fields == [":method": "CONNECT", ":authority": "h:443"])
    #expect(head.targetForm == .authority)
    #expect(head.kind == .connect)
  }

  @Test("OPTIONS is parsed in asterisk form")
  func asteriskForm() throws {
    let head = try #require(try readRequestHead("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"))
    #expect(head.fields == [":method": "OPTIONS", ":path": "*", ":authority": "h"])
    #expect(head.targetForm == .asterisk)
  }

  @Test(
    "a malformed request line is refused",
    arguments: [
      "GET /", "GET  / HTTP/1.1", "GET /  HTTP/1.1", " GET / HTTP/1.1", "GET / HTTP/1.1 ", "GET\t/ HTTP/1.1",
      "GET /a b HTTP/1.1", "GET  HTTP/1.1", "G(T / HTTP/1.1", "GET / http/1.1", "GET / HTTP/1", "GET / HTTP/1.1.1",
      "GET / HTTP/01.1", "GET / HTP/1.1", "GET a HTTP/1.1", "GET * HTTP/1.1", "GET h:80 HTTP/1.1",
      "CONNECT / HTTP/1.1", "CONNECT h HTTP/1.1", "CONNECT http://h/ HTTP/1.1", "CONNECT h:0x50 HTTP/1.1",
      "CONNECT h:99999 HTTP/1.1", "CONNECT u@h:1 HTTP/1.1", "GET http:// HTTP/1.1", "GET http:/// HTTP/1.1",
      "GET http://u:p@h/ HTTP/1.1", "GET http://h:x/ HTTP/1.1", "GET ://h/ HTTP/1.1", "GET /#f HTTP/1.1",
      "GET /\u{0} HTTP/1.1", "GET /\u{7F} HTTP/1.1", "GET /\r HTTP/1.1", "", "\r\n",
    ])
  func badRequestLine(_ line: String) {
    let outcome = readRequests("\(line)\r\nHost: h\r\n\r\n")
    #expect(outcome.failure?.status == 400)
    #expect(outcome.events.isEmpty)
  }

  @Test("a request with another major version gets 505", arguments: ["HTTP/2.0", "HTTP/0.9", "HTTP/3.1"])
  func otherVersion(_ version: String) {
    #expect(readRequests("GET / \(version)\r\nHost: h\r\n\r\n").failure?.status == 505)
  }

  @Test(
    "a request without exactly one valid Host is refused",
    arguments: [
      "", "Host: a\r\nHost: b\r\n", "Host: a\r\nHost: a\r\n", "Host: a, b\r\n", "Host:\r\n", "Host: a b\r\n",
      "Host: a/b\r\n", "Host: u@a\r\n", "Host: a:b\r\n", "Host: a:65536\r\n", "Host: [::1\r\n", "Host: :80\r\n",
      "Host: \u{E9}\r\n", "Host: a:80:80\r\n", "Host: []\r\n", "Host: a?b\r\n", "Host: a#b\r\n", "Host: a\\b\r\n",
    ], ["GET / HTTP/1.1", "GET http://a/ HTTP/1.1"])
  func badHost(_ fields: String, _ line: String) {
    #expect(readRequests("\(line)\r\n\(fields)\r\n").failure?.status == 400)
  }

  @Test("an HTTP/1.0 request without Host is accepted")
  func oldClient() throws {
    let head = try #require(try readRequestHead("GET / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n"))
    #expect(head.fields == [":method": "GET", ":path": "/"])
    #expect(!head.keepAlive)
    #expect(!head.expectsContinue)
  }

  @Test(
    "the request head determines whether the connection stays open",
    arguments: [
      ("GET / HTTP/1.1\r\n", true), ("GET / HTTP/1.1\r\nConnection: close\r\n", false),
      ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n", true),
      ("GET http://h/ HTTP/1.0\r\nConnection: keep-alive\r\n", false),
    ])
  func keepAlive(_ head: String, _ expected: Bool) throws {
    #expect(try readRequestHead(head + "Host: h\r\n\r\n")?.keepAlive == expected)
  }

  @Test("hop-by-hop fields are removed, and their meaning is kept")
  func facts() throws {
    let head = try #require(
      try readRequestHead(
        "POST / HTTP/1.1\r\nHost: h\r\nTE: trailers, gzip;q=0.5\r\nExpect: 100-Continue\r\nConnection: TE, x-secret\r\n"
          + "X-Secret: 1\r\nTransfer-Encoding: chunked\r\nByway-Target-Form: absolute\r\nX: 1\r\n\r\n"))
    #expect(
      head.fields == [":method": "POST", ":path": "/", ":authority": "h", "expect": "100-Continue", "x": "1"])
    #expect(head.acceptsTrailers)
    #expect(head.expectsContinue)
    #expect(head.framing == .chunked)
  }

  @Test("control data and framing fields in Connection are ignored")
  func hostileConnection() throws {
    let head = try #require(
      try readRequestHead(
        "POST / HTTP/1.1\r\nHost: h\r\nConnection: host, :path, content-length, transfer-encoding\r\n"
          + "Content-Length: 3\r\n\r\n"))
    #expect(head.fields == [":method": "POST", ":path": "/", ":authority": "h"])
    #expect(head.framing == .length(3))
  }

  @Test(
    "a WebSocket handshake is recognized",
    arguments: [
      ("GET / HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n", RequestKind.webSocket),
      ("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c, websocket\r\n", .webSocket),
      ("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp, websocket\r\n", .webSocket),
      ("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n", .webSocket),
      ("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n", .ordinary),
      ("GET / HTTP/1.1\r\nUpgrade: websocket\r\n", .ordinary),
      ("GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", .ordinary),
      ("POST / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n", .ordinary),
      ("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n", .ordinary),
    ])
  func webSocket(_ text: String, _ kind: RequestKind) throws {
    let head = try #require(try readRequestHead(text + "Host: h\r\n\r\n"))
    #expect(head.kind == kind)
    #expect(head.fields.contains(.contentLength) == (head.framing == .length(1)))
  }

  @Test(
    "an offer of any other protocol is recognized, with any method and content of known length",
    arguments: [
      ("POST / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n", RequestKind.upgrade),
      ("POST / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 14\r\n", .upgrade),
      ("PATCH / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n", .upgrade),
      ("GET / HTTP/1.1\r\nConnection: close, upgrade\r\nUpgrade: SPDY/3.1\r\n", .upgrade),
      ("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nUpgrade: foo\r\n", .upgrade),
      ("POST / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket, tcp\r\n", .upgrade),
      ("OPTIONS * HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n", .ordinary),
      ("HEAD / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n", .head),
      ("CONNECT h:1 HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n", .connect),
      ("POST / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n", .ordinary),
      ("POST / HTTP/1.1\r\nUpgrade: tcp\r\n", .ordinary),
      ("POST / HTTP/1.1\r\nConnection: Upgrade\r\n", .ordinary),
      ("POST / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: TLS/1.2, HTTP/2.0, H2C\r\n", .ordinary),
    ])
  func upgrade(_ text: String, _ kind: RequestKind) throws {
    let head = try #require(try readRequestHead(text + "Host: h:1\r\n\r\n"))
    #expect(head.kind == kind)
    #expect(!head.fields.contains(.contentLength), "the length is part of the framing, and not a field")
  }

  @Test("the spelling of offered protocols is kept, over all lines")
  func offer() throws {
    let head = try readRequestHead(
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nUpgrade: Foo\r\n\r\n")
    #expect(head?.upgrade == "SPDY/3.1, Foo")
  }

  @Test("an upgrade offer with content of unknown length is refused, as the tunnel's start would be unknown")
  func chunkedUpgrade() {
    let outcome = readRequests(
      "POST / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    #expect(outcome.failure?.status == 411)
    let ignored = readRequests(
      "POST / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    #expect(ignored.failure == nil)
  }

  @Test("internal upgrade fields from a client are removed")
  func hostileFields() throws {
    let head = try readRequestHead(
      "POST / HTTP/1.1\r\nHost: h\r\nByway-Upgrade-Method: DELETE\r\nbyway-upgrade-length: 9\r\n"
        + "byway-upgrade-status: 200\r\nx: y\r\n\r\n")
    #expect(head?.fields == [":method": "POST", ":path": "/", ":authority": "h", "x": "y"])
  }
}
