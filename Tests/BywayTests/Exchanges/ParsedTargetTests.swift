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
    let isAbsolute: Bool
    let scheme: RequestScheme?
    let authority: String?

    init(
      _ text: String, _ kind: RequestKind, _ scheme: RequestScheme?, _ authority: String?, isAbsolute: Bool = false
    ) {
      self.text = text
      self.kind = kind
      self.isAbsolute = isAbsolute
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
    #expect(head.isAbsolute == expected.isAbsolute)
    #expect(head.scheme == expected.scheme)
    #expect(head.authority?.description == expected.authority)
    expectFresh(head)
  }

  /// Checks that the values are those of the fields.
  private func expectFresh(_ head: ExchangeHead) {
    let parsed = ExchangeHead(fields: head.fields, isComplete: head.isComplete)
    #expect(head.kind == parsed.kind)
    #expect(head.isAbsolute == parsed.isAbsolute)
    #expect(head.scheme == parsed.scheme)
    #expect(head.authority == parsed.authority)
  }

  @Test(
    "a server of HTTP/1.1 passes on kind, scheme and authority of each form of target",
    arguments: [
      Case("GET /a HTTP/1.1\r\nHost: Device.:80\r\n", .ordinary, .http, "device:80"),
      Case("HEAD / HTTP/1.1\r\nHost: [0::1]\r\n", .head, .http, "[::1]"),
      Case("GET / HTTP/1.0\r\n", .ordinary, .http, nil),
      Case("GET HTTPS://a.b:8/x HTTP/1.1\r\nHost: other\r\n", .ordinary, .https, "a.b:8", isAbsolute: true),
      Case("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n", .ordinary, .other, "a", isAbsolute: true),
      Case("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n", .ordinary, .http, "a", isAbsolute: true),
      Case("OPTIONS * HTTP/1.1\r\nHost: a\r\n", .ordinary, .http, "a"),
      Case("CONNECT A:443 HTTP/1.1\r\nHost: b\r\n", .connect, nil, "a:443"),
      Case(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n"
          + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", .webSocket, .http, "a"),
      Case(
        "GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
          + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n", .webSocket, .http, "a",
        isAbsolute: true),
      Case(
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n", .upgrade, .http,
        "a"),
      Case("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: tcp\r\n", .ordinary, .http, "a"),
      Case("connect / HTTP/1.1\r\nHost: a\r\n", .ordinary, .http, "a"),
    ])
  func http1(_ expected: Case) throws {
    check(try #require(try serve(expected.text + "\r\n")), expected)
    _ = try channel.finish(acceptAlreadyClosed: true)
  }

  @Test("a server of HTTP/2 passes on kind, scheme and authority of each kind of request")
  func http2() throws {
    let requests: [(KeyValuePairs<String, String>, Case)] = [
      (
        [":method": "GET", ":scheme": "http", ":authority": "Device.:80", ":path": "/"],
        Case("", .ordinary, .http, "device:80")
      ),
      ([":method": "HEAD", ":scheme": "x", ":path": "/", "host": "a"], Case("", .head, .other, "a")),
      (
        [":method": "OPTIONS", ":scheme": "https", ":authority": "a", ":path": "*"],
        Case("", .ordinary, .https, "a")
      ),
      ([":method": "CONNECT", ":authority": "[::1]:5"], Case("", .connect, nil, "[::1]:5")),
      (
        [":method": "CONNECT", ":protocol": "WebSocket", ":scheme": "http", ":authority": "a", ":path": "/"],
        Case("", .webSocket, .http, "a")
      ),
      (
        [":method": "CONNECT", ":protocol": "tcp", ":scheme": "http", ":authority": "a", ":path": "/"],
        Case("", .upgrade, .http, "a")
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
    #expect(head.scheme == .https && !head.isAbsolute && head.authority?.description == "first")
    #expect(head.device != nil)
    head.set(.method, "CONNECT")
    #expect(head.kind == .connect && head.device == nil)
    head.append(.protocol, "websocket")
    #expect(head.kind == .webSocket)
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
    #expect(head.kind == .connect && head.scheme == nil)
    #expect(head.authority?.description == "second:1" && head.device == nil)
    expectFresh(head)
  }

  @Test(
    "the name of a scheme is in lower case, http if there is none, and the client's own if it is custom",
    arguments: [("http", "http"), ("HTTPS", "https"), ("Coap", "coap"), (nil, "http")] as [(String?, String)])
  func schemeNames(_ sent: String?, _ name: String) throws {
    var fields: FieldSection = [":method": "GET", ":authority": "a", ":path": "/"]
    if let sent { fields.append(.scheme, sent) }
    #expect(ExchangeHead(fields: fields, isComplete: true).schemeName == name)
    var head = try served()
    head.remove(.scheme)
    if let sent { head.set(.scheme, sent) }
    #expect(head.schemeName == name && head.device != nil)
  }

  @Test("a request without the authority that its handler needs is refused with its text", arguments: ["a b", ""])
  func missingAuthority(_ text: String) throws {
    var head = try served()
    #expect(try head.requiredAuthority().description == "first")
    head.set(.authority, text)
    let error = #expect(throws: BywayError.self) { try head.requiredAuthority() }
    #expect(error?.code == .invalidRequest && error?.message.contains("\"\(text)\"") == true)
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
      { $0.remove(.protocol) }, { $0.append(.targetForm, "absolute") }, { $0.set(.scheme, "HTTPS") },
      { $0.append(.scheme, "http") }, { $0.remove(.scheme) },
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
