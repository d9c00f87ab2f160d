import BywayHTTPWire
import Logging
import NIOCore
import NIOEmbedded
import TestWire
import Testing

@testable import Byway

/// The target of a request, which a serving connection parses for all handlers behind it.
@Suite("The parsed target of a request") struct ParsedTargetTests {
  /// The expected target of a request.
  struct Case: CustomTestStringConvertible, Sendable {
    let text: String
    let kind: RequestKind
    let form: TargetForm
    let scheme: RequestScheme?
    let authority: String?

    init(
      _ text: String, _ kind: RequestKind, _ form: TargetForm, _ scheme: RequestScheme?, _ authority: String?
    ) {
      self.text = text
      self.kind = kind
      self.form = form
      self.scheme = scheme
      self.authority = authority
    }

    var testDescription: String { text.replacing("\r\n", with: " | ") }
  }

  private let handler = RecordingHandler()
  private let channel = EmbeddedChannel()

  private static var configuration: ServerConfiguration {
    var configuration = ServerConfiguration.test
    configuration.upgrades.allowed = ["tcp"].compactMap { try? UpgradeProtocol($0) }
    return configuration
  }

  /// Serves one request over HTTP/1.1.
  private func serve(_ text: String) throws -> ExchangeHead? {
    let connection = HTTP1ServerConnection.start(on: channel, handler: handler, configuration: Self.configuration)
    try channel.writeInbound(ByteBuffer(string: text))
    channel.embeddedEventLoop.run()
    withExtendedLifetime(connection) {}
    return handler.heads.first
  }

  /// Serves one request over HTTP/2.
  private func serve(_ fields: KeyValuePairs<String, String>) throws -> ExchangeHead? {
    let connection = HTTP2ServerConnection.start(on: channel, handler: handler, configuration: Self.configuration)
    // Literal lines without indexing (RFC 7541 §6.2.2).
    let block = fields.flatMap { [0, UInt8($0.utf8.count)] + $0.utf8 + [UInt8($1.utf8.count)] + $1.utf8 }
    let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    try channel.writeInbound(
      ByteBuffer(
        bytes: Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + settings
          + [0, 0, UInt8(block.count), 1, 4, 0, 0, 0, 1] + block))
    channel.embeddedEventLoop.run()
    withExtendedLifetime(connection) {}
    return handler.heads.first
  }

  private func check(_ head: ExchangeHead, _ expected: Case) {
    #expect(head.kind == expected.kind)
    #expect(head.form == expected.form)
    #expect(head.scheme == expected.scheme)
    #expect(head.authority?.description == expected.authority)
    expectFresh(head)
  }

  /// Checks that the values are those of the fields.
  private func expectFresh(_ head: ExchangeHead) {
    let parsed = ExchangeHead(fields: head.fields, isComplete: head.isComplete)
    #expect(head.kind == parsed.kind)
    #expect(head.form == parsed.form)
    #expect(head.scheme == parsed.scheme)
    #expect(head.authority == parsed.authority)
  }

  @Test(
    "a server of HTTP/1.1 passes on kind, form, scheme and authority of each form of target",
    arguments: [
      Case("GET /a HTTP/1.1\r\nHost: Device.:80\r\n", .ordinary, .origin, .http, "device:80"),
      Case("HEAD / HTTP/1.1\r\nHost: [0::1]\r\n", .head, .origin, .http, "[::1]"),
      Case("GET / HTTP/1.0\r\n", .ordinary, .origin, .http, nil),
      Case("GET HTTPS://a.b:8/x HTTP/1.1\r\nHost: other\r\n", .ordinary, .absolute, .https, "a.b:8"),
      Case("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n", .ordinary, .absolute, .other, "a"),
      Case("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n", .ordinary, .absolute, .http, "a"),
      Case("OPTIONS * HTTP/1.1\r\nHost: a\r\n", .ordinary, .asterisk, .http, "a"),
      Case("CONNECT A:443 HTTP/1.1\r\nHost: b\r\n", .connect, .authority, nil, "a:443"),
      Case(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n"
          + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", .webSocket, .origin, .http,
        "a"),
      Case(
        "GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
          + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", .webSocket, .absolute,
        .http,
        "a"),
      Case(
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n", .upgrade, .origin,
        .http, "a"),
      Case("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: tcp\r\n", .ordinary, .origin, .http, "a"),
      Case("connect / HTTP/1.1\r\nHost: a\r\n", .ordinary, .origin, .http, "a"),
    ])
  func http1(_ expected: Case) throws {
    check(try #require(try serve(expected.text + "\r\n")), expected)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test("a server of HTTP/2 passes on kind, form, scheme and authority of each kind of request")
  func http2() throws {
    let requests: [(KeyValuePairs<String, String>, Case)] = [
      (
        [":method": "GET", ":scheme": "http", ":authority": "Device.:80", ":path": "/"],
        Case("", .ordinary, .origin, .http, "device:80")
      ),
      ([":method": "HEAD", ":scheme": "x", ":path": "/", "host": "a"], Case("", .head, .origin, .other, "a")),
      (
        [":method": "OPTIONS", ":scheme": "https", ":authority": "a", ":path": "*"],
        Case("", .ordinary, .asterisk, .https, "a")
      ),
      ([":method": "CONNECT", ":authority": "[::1]:5"], Case("", .connect, .authority, nil, "[::1]:5")),
      (
        [":method": "CONNECT", ":protocol": "WebSocket", ":scheme": "http", ":authority": "a", ":path": "/"],
        Case("", .webSocket, .origin, .http, "a")
      ),
      (
        [":method": "CONNECT", ":protocol": "tcp", ":scheme": "http", ":authority": "a", ":path": "/"],
        Case("", .upgrade, .origin, .http, "a")
      ),
    ]
    for (fields, expected) in requests {
      let tests = Self()
      tests.check(try #require(try tests.serve(fields), "\(fields)"), expected)
      _ = try tests.channel.finish(acceptAlreadyClosed: true)
    }
  }

  private static let invalid = [
    "", "user@device", "user:password@device:80", "device:65536", "device:-1", "device:+1", "device:8 0",
    "[fe80::1%25eth0]",
    "[::1%1]", "::1", "[::1", "%64evice", "a%3A80", "b\u{FC}cher", "a..b", ".a", "127.1", "0x7f.1", "1.2.3.4.5", "a/b",
    "a,b",
  ]

  @Test("a server passes on no request with an invalid authority", arguments: invalid)
  func hostile(_ authority: String) throws {
    #expect(try serve("GET / HTTP/1.1\r\nHost: \(authority)\r\n\r\n") == nil)
    let http2 = Self()
    #expect(
      try http2.serve([":method": "GET", ":scheme": "http", ":authority": authority, ":path": "/"]) == nil)
    #expect(ExchangeHead(fields: [":authority": authority], isComplete: true).authority == nil)
    _ = try channel.finish(acceptAlreadyClosed: true)
    _ = try http2.channel.finish(acceptAlreadyClosed: true)
  }

  @Test(
    "a server reads all spellings of an authority alike",
    arguments: [
      ("DEVICE", "device"), ("device.", "device"), ("device:", "device"), ("device:0", "device:0"),
      ("device:00080", "device:80"), ("[0:0::1]:65535", "[::1]:65535"), ("127.0.0.1", "127.0.0.1"),
      ("a-name-longer-than-a-small-string.EXAMPLE.", "a-name-longer-than-a-small-string.example"),
    ])
  func spellings(_ text: String, _ canonical: String) throws {
    let head = try #require(try serve("GET / HTTP/1.1\r\nHost: \(text)\r\n\r\n"))
    #expect(head.authority?.description == canonical)
    #expect(head.fields.value(of: .authority) == text)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  // MARK: Changes

  private func served() throws -> ExchangeHead {
    var head = try #require(try serve("GET http://first/ HTTP/1.1\r\nHost: first\r\n\r\n"))
    head.device = handler
    return head
  }

  @Test("a change of the authority takes effect at once, and the device that was found for the old one is forgotten")
  func authority() throws {
    var head = try served()
    head.set(.authority, "second:8")
    #expect(head.authority?.description == "second:8")
    #expect(head.device == nil)
    head.set(.authority, "user@second")
    #expect(head.authority == nil)
    head.remove(.authority)
    #expect(head.authority == nil)
    head.append(.authority, "third")
    #expect(head.authority?.description == "third")
    expectFresh(head)
  }

  @Test("a change of method, protocol, scheme and form takes effect at once")
  func others() throws {
    var head = try served()
    head.set(.scheme, "https")
    head.remove(.targetForm)
    #expect(head.scheme == .https && head.form == .origin && head.authority?.description == "first")
    #expect(head.device != nil)
    head.set(.method, "CONNECT")
    #expect(head.kind == .connect && head.form == .authority && head.device == nil)
    head.append(.protocol, "websocket")
    #expect(head.kind == .webSocket && head.form == .origin)
    head.set(.protocol, "tcp")
    #expect(head.kind == .upgrade)
    head.set(.method, "HEAD")
    #expect(head.kind == .head)
    expectFresh(head)
  }

  @Test("any edit of the fields takes effect at once")
  func edit() throws {
    var head = try served()
    head.edit { fields in
      fields.removeAll { _ in true }
      fields.append(.method, "CONNECT")
      fields.append(.authority, "second:1")
    }
    #expect(head.kind == .connect && head.form == .authority && head.scheme == nil)
    #expect(head.authority?.description == "second:1" && head.device == nil)
    expectFresh(head)
  }

  @Test("a copy of a request keeps its target when the original changes")
  func copies() throws {
    var head = try served()
    let copy = head
    head.set(.authority, "second")
    #expect(copy.authority?.description == "first" && head.authority?.description == "second")
    expectFresh(copy)
  }

  @Test("the target is right after every sequence of three changes")
  func sequences() throws {
    let changes: [(inout ExchangeHead) -> Void] = [
      { $0.set(.authority, "b:1") }, { $0.remove(.authority) }, { $0.append(.authority, "c") },
      { $0.set(.method, "CONNECT") }, { $0.set(.method, "HEAD") }, { $0.set(.protocol, "websocket") },
      { $0.remove(.protocol) }, { $0.append(.targetForm, "absolute") }, { $0.set(.path, "*") },
      { head in head.edit { $0.set(.authority, "d") } },
    ]
    let first = try served()
    func change(_ head: ExchangeHead, _ depth: Int) {
      expectFresh(head)
      guard depth > 0 else { return }
      for index in changes.indices {
        var head = head
        changes[index](&head)
        change(head, depth - 1)
      }
    }
    change(first, 3)
  }
}
