import Byway
import BywayHTTPWire
import Glibc
import NIOCore
import NIOPosix
import Synchronization
import TCPTransport
import TestTools
import Testing
import TransportTestSupport

@testable import WebSocketTransport

/// Tests the decision of a listener about requests in other spellings, and its clients over time.
@Suite("The answer to a request for a link over WebSocket") struct UpgradeAnswerTests {
  private let transport = WebSocketTransport(over: TCPTransport())
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let request = openingRequest()

  private func secret(_ text: String, mode: mode_t = 0o600) throws -> String {
    let path = try folder.write(text, to: "token")
    chmod(path, mode)
    return path
  }

  private func client(of listener: any Listener) async throws -> any Channel {
    let port = try #require(try listener.address.hostPort().port)
    return try await TCPTransport().connect(to: LinkAddress("tcp://127.0.0.1:\(port)"), context: .test())
  }

  /// Returns the head of a listener's answer to the request with a change.
  private func answer(
    _ listener: any Listener, _ part: String = "Host: hub", _ other: String = "Host: hub", pieces: Int = .max
  ) async throws -> String {
    let client = try await client(of: listener)
    let received = try await client.receiving(count: 120)
    var rest = Array(Self.request.replacing(part, with: other).utf8)[...]
    while !rest.isEmpty {
      try await client.writeAndFlush(ByteBuffer(bytes: rest.prefix(pieces))).get()
      rest = rest.dropFirst(pieces)
    }
    let text = try await received.get().text
    client.close(promise: nil)
    return text.lowercased()
  }

  @Test("accepts other spellings of a request, and a request in pieces")
  func spellings() async throws {
    let listener = try await transport.listen(on: LinkAddress("ws://127.0.0.1:0/byway"), context: .test())
    for (part, other) in [
      ("GET /byway", "GET /byway?x=1"), ("Protocol: byway", "Protocol: chat,byway ,other"),
      ("Upgrade: websocket", "upgrade: WebSocket"), ("Connection: Upgrade", "Connection: keep-alive, upgrade"),
      ("Sec-WebSocket-Protocol: byway", "Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: byway"),
    ] {
      let answer = try await answer(listener, part, other)
      #expect(answer.hasPrefix("http/1.1 101 "), "\(other): \(answer)")
    }
    #expect(try await answer(listener, pieces: 7).hasPrefix("http/1.1 101 "))
    await listener.close()
  }

  @Test("refuses requests for something similar")
  func similar() async throws {
    let listener = try await transport.listen(on: LinkAddress("ws://127.0.0.1:0/byway"), context: .test())
    for (part, other, status) in [
      ("GET /byway", "GET /byway/", 404), ("GET /byway", "GET /bywa", 404),
      ("Protocol: byway", "Protocol: byway2", 400),
      ("Protocol: byway", "Protocol: a byway", 400), ("Version: 13", "Version: 14", 400),
      ("Sec-WebSocket-Version: 13\r\n", "", 400), ("Sec-WebSocket-Protocol: byway\r\n", "", 400),
    ] {
      let answer = try await answer(listener, part, other)
      #expect(answer.hasPrefix("http/1.1 \(status) "), "\(other): \(answer)")
      #expect(answer.contains("sec-websocket-version: 13\r\n") == (status == 400))
    }
    await listener.close()
  }

  @Test("tells no more about a link than a client may know")
  func order() async throws {
    let path = try secret("secret-token\n")
    let listener = try await transport.listen(
      on: LinkAddress("ws://127.0.0.1:0/byway?token-file=\(path)"), context: .test())
    let elsewhere = try await answer(listener, "GET /byway", "GET /other")
    #expect(elsewhere.hasPrefix("http/1.1 404 "), "\(elsewhere)")
    let page = try await answer(listener, "Host: hub", "Host: hub\r\nOrigin: https://evil.example")
    #expect(page.hasPrefix("http/1.1 401 ") && page.contains("www-authenticate: bearer\r\n"), "\(page)")
    for (credentials, status) in [
      ("Bearer secret-token", 101), ("bearer secret-token", 101), ("BEARER secret-token", 101),
      ("Basic secret-token", 401), ("secret-token", 401), ("Bearer  secret-token", 401),
      ("Bearer xecret-token", 401),
    ] {
      let answer = try await answer(listener, "Host: hub", "Host: hub\r\nAuthorization: \(credentials)")
      #expect(answer.hasPrefix("http/1.1 \(status) "), "\(credentials): \(answer)")
    }
    await listener.close()
  }

  @Test("a token is the first line of its file, and its group may read it", arguments: ["\n", "\r\n", "", "\nother\n"])
  func tokenLines(_ rest: String) async throws {
    let path = try secret("!secret~\(rest)", mode: 0o640)
    let token = try BearerToken(file: path, code: .unreadableFile)
    #expect(token.credentials == "Bearer !secret~")
  }

  @Test("a file that is no token is refused", arguments: ["\nsecret\n", " secret", "se\u{7F}cret", "sécret", "a\tb"])
  func badTokens(_ text: String) throws {
    let path = try secret(text)
    let error = #expect(throws: BywayError.self) { try BearerToken(file: path, code: .unreadableFile) }
    #expect(error?.code == .unreadableFile && error?.message.contains("(token-file=) must have one line") == true)
    #expect(throws: BywayError.self) { try BearerToken(file: folder["missing"], code: .unreadableFile) }
    let long = try secret(String(repeating: "a", count: (16 << 10) + 1))
    #expect(throws: BywayError.self) { try BearerToken(file: long, code: .unreadableFile) }
  }

  @Test("the old token is refused once a listener has read the new one, and not before")
  func renewed() async throws {
    let path = try secret("old-token\n")
    let listener = try await transport.listen(
      on: LinkAddress("ws://127.0.0.1:0/byway?token-file=\(path)"), context: .test())
    func statuses() async throws -> [Bool] {
      var statuses: [Bool] = []
      for token in ["old-token", "new-token"] {
        let answer = try await answer(listener, "Host: hub", "Host: hub\r\nAuthorization: Bearer \(token)")
        statuses.append(answer.hasPrefix("http/1.1 101 "))
      }
      return statuses
    }
    _ = try secret("new-token\n")
    let apply = try await listener.reread()
    #expect(try await statuses() == [true, false])
    apply()
    #expect(try await statuses() == [false, true])
    // A file that cannot be used leaves the token as it is.
    _ = try secret("\n")
    #expect(await bywayError { try await listener.reread() } != nil)
    #expect(try await statuses() == [false, true])
    await listener.close()
  }

  @Test("a client without a request gives way while others wait, and one with a link stays")
  func unknownPeer() async throws {
    var context = LinkContext.test()
    context.connections = ConnectionLimit(2)
    let listener = try await transport.listen(on: LinkAddress("ws://127.0.0.1:0/byway"), context: context)
    let known = try await client(of: listener)
    let head = try await known.receiving(count: 120)
    try await known.writeAndFlush(ByteBuffer(string: Self.request)).get()
    _ = try await head.get()
    let silent = try await client(of: listener)
    let ended = try await silent.receiving()
    let isEnded = Flag()
    ended.whenComplete { _ in isEnded.set() }
    let connections = context.connections
    #expect(
      try await eventually {
        connections.askForRoom()
        return isEnded.isSet
      })
    #expect(try await ended.get().text == "" && known.isActive)
    let far = try #require(try await nextChannel(of: listener))
    #expect(far.isActive)
    known.close(promise: nil)
    silent.close(promise: nil)
    await listener.close()
  }

  @Test(
    "an address has the connection below with the options for it",
    arguments: [
      ("ws://127.0.0.1/a", "tcp://127.0.0.1:80?http=1.1"), ("ws://localhost:8080", "tcp://localhost:8080?http=1.1"),
      ("wss://hub.example/a", "tls://hub.example:443?http=1.1"),
      ("wss://hub.example/a?token-file=/t", "tls://hub.example:443?http=1.1&clients=any"),
      ("wss://hub.example/a?token-file=/t&ca=/c", "tls://hub.example:443?ca=/c&http=1.1"),
      ("wss://hub.example/a?token-file=/t&clients=b", "tls://hub.example:443?clients=b&http=1.1"),
      ("ws://127.0.0.1/a?token-file=/t", "tcp://127.0.0.1:80?http=1.1"),
    ])
  func below(_ text: String, _ below: String) throws {
    let address = try WebSocketTarget(LinkAddress(text)).below
    let options = address.options.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    #expect("\(address.scheme)://\(address.authority ?? "")\(address.path)?\(options)" == below)
  }

  @Test("the authority of a request has no port if it is the usual one of the scheme")
  func authority() throws {
    for (text, authority) in [
      ("ws://127.0.0.1/a", "127.0.0.1"), ("ws://127.0.0.1:80/a", "127.0.0.1"),
      ("ws://127.0.0.1:443/a", "127.0.0.1:443"),
      ("wss://h:443/a", "h"), ("wss://h:80/a", "h:80"), ("ws://[::1]:81/a", "[::1]:81"),
    ] {
      #expect(try WebSocketTarget(LinkAddress(text)).authority == authority)
    }
    let target = try WebSocketTarget(LinkAddress("ws://127.0.0.1:0/a?token-file=/t"))
    #expect(try target.bound(to: 99).text == "ws://127.0.0.1:99/a?token-file=/t" && target.path == "/a")
    #expect(try WebSocketTarget(LinkAddress("ws://127.0.0.1")).path == "/")
  }

  @Test("a plain address is one of this machine, unless it says insecure=yes")
  func privacy() throws {
    for host in ["127.0.0.1", "127.1.2.3", "[::1]", "localhost", "LOCALHOST", "a.localhost"] {
      try WebSocketTarget(LinkAddress("ws://\(host)/a")).checkPrivacy()
    }
    for host in ["notlocalhost", "localhost.example", "128.0.0.1", "[::2]"] {
      #expect(throws: BywayError.self) { try WebSocketTarget(LinkAddress("ws://\(host)/a")).checkPrivacy() }
      try WebSocketTarget(LinkAddress("ws://\(host)/a?insecure=yes")).checkPrivacy()
      try WebSocketTarget(LinkAddress("wss://\(host)/a")).checkPrivacy()
    }
  }
}

private final class Flag: Sendable {
  private let value = Mutex(false)
  var isSet: Bool { value.withLock(\.self) }
  func set() { value.withLock { $0 = true } }
}
