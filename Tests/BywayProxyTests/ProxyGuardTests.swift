import Byway
import BywayProxy
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import TestWire
import Testing

/// Access rules of a proxy, tested from outside.
@Suite(.timeLimit(.minutes(1)), .cleansUp) struct ProxyGuardTests {
  @Test(
    "a foreign host gets 421 over HTTP/1.1, and the origin receives nothing",
    arguments: [
      "GET / HTTP/1.1\r\nHost: evil.example", "GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example:80", "GET / HTTP/1.0",
      "OPTIONS * HTTP/1.1\r\nHost: evil.example", "POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0",
      "GET / HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
    ])
  func misdirected(head: String) async throws {
    let calls = Calls()
    let fixture = try await ProxyFixture(respond: calls.respond)
    let response = try await fixture.exchange(head)
    #expect(response.hasPrefix("HTTP/1.1 421 Misdirected Request\r\n"))
    #expect(response.contains("use 127.0.0.1 or localhost"))
    #expect(calls.count == 0)
  }

  @Test("a foreign host gets 421 over HTTP/2, and a client's own mark of absolute form is ignored")
  func misdirectedHTTP2() async throws {
    let calls = Calls()
    let fixture = try await ProxyFixture(respond: calls.respond)
    let client = try fixture.http2()
    #expect(try await client.get("http://evil.example/").status == .misdirectedRequest)
    var forged = try Request(url: "http://evil.example/")
    forged.head.headerFields[.init("byway-target-form")!] = "absolute"
    #expect(try await client.execute(forged).status == .misdirectedRequest)
    #expect(calls.count == 0)
    #expect(try await client.get("http://localhost/").status == .ok)
    #expect(calls.count == 1)
    await client.shutDown()
  }

  @Test(
    "a request from another site's page is refused, with any method and body",
    arguments: [
      "POST / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nContent-Length: 0",
      "GET /reboot HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Dest: image",
      "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13",
    ])
  func foreignPage(head: String) async throws {
    let calls = Calls()
    let fixture = try await ProxyFixture(respond: calls.respond)
    #expect(try await fixture.exchange(head).hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
    #expect(calls.count == 0)
  }

  private static let upgrade =
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    + "Sec-WebSocket-Version: 13"

  @Test(
    "a request in absolute form from another site's page is refused",
    arguments: [
      "POST http://device.example/ HTTP/1.1\r\nHost: device.example\r\nOrigin: http://evil.example\r\nContent-Length: 0",
      "POST http://device.example/ HTTP/1.1\r\nHost: device.example\r\nOrigin: null\r\nContent-Length: 0",
      "POST http://device.example:81/ HTTP/1.1\r\nHost: x\r\nOrigin: http://device.example\r\nContent-Length: 0",
      "GET http://device.example/ws HTTP/1.1\r\nHost: device.example\r\nOrigin: http://evil.example\r\n" + upgrade,
      "GET https://device.example/ HTTP/1.1\r\nHost: x\r\nSec-Fetch-Site: same-site\r\nSec-Fetch-Dest: image",
      "POST http://localhost:PORT/ HTTP/1.1\r\nHost: x\r\nOrigin: http://localhost:1\r\nContent-Length: 0",
    ])
  func foreignPageInAbsoluteForm(head: String) async throws {
    let calls = Calls()
    // The gateway's rules allow every destination.
    let fixture = try await ProxyFixture(allowed: ["*:*"], respond: calls.respond)
    let response = try await fixture.exchange(head.replacing("PORT", with: "\(fixture.port)"))
    #expect(response.hasPrefix("HTTP/1.1 403 Forbidden\r\n"), "\(response)")
    #expect(response.contains("to its allowedPages if it should"))
    #expect(calls.count == 0)
  }

  @Test("a request in absolute form from a page reaches its own origin, and any from an allowed page")
  func ownPageInAbsoluteForm() async throws {
    let other = try await OtherServer(answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother")
    let fixture = try await ProxyFixture(
      allowed: ["127.0.0.1:\(other.port)"], change: { $0.allowedPages = ["https://app.example"] })
    for origin in ["http://127.0.0.1:\(other.port)", "https://app.example"] {
      let response = try await fixture.exchange(
        "POST http://127.0.0.1:\(other.port)/ HTTP/1.1\r\nHost: x\r\nOrigin: \(origin)\r\nContent-Length: 0")
      #expect(response.hasSuffix("\r\n\r\nother"), "\(response)")
    }
  }

  @Test("over HTTP/2, requests and extended CONNECT from another site's page are refused")
  func foreignPageOverHTTP2() async throws {
    let calls = Calls()
    let fixture = try await ProxyFixture(respond: calls.respond)
    let client = try fixture.http2()
    for isSocket in [false, true] {
      var request = try Request(isSocket ? .connect : .post, url: "http://localhost:\(fixture.port)/")
      if isSocket { request.head.extendedConnectProtocol = "websocket" }
      request.head.headerFields[.init("origin")!] = "http://localhost:3000"
      #expect(try await client.execute(request).status == .forbidden)
    }
    #expect(calls.count == 0)
    await client.shutDown()
  }

  @Test("a browser's WebSocket in a tunnel is subject to the page rules")
  func webSocketInTunnel() async throws {
    let answer = "HTTP/1.1 101 Switching Protocols\r\n\r\n"
    let other = try await OtherServer(answer: answer)
    let fixture = try await ProxyFixture(
      allowed: ["127.0.0.1:\(other.port)"], change: { $0.allowedPages = ["https://app.example"] })
    let target = "127.0.0.1:\(other.port)"
    for (origin, isOwn) in [
      ("http://evil.example", false), ("http://127.0.0.1:1", false), ("http://\(target)", true),
      ("https://app.example", true),
    ] {
      for isEarly in [false, true] {
        let client = try await fixture.wire()
        let request = "GET /chat HTTP/1.1\r\nHost: \(target)\r\nOrigin: \(origin)\r\n\(Self.upgrade)\r\n\r\n"
        try await client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n" + (isEarly ? request : ""))
        if !isEarly {
          #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200 OK\r\n"))
          // The same in single bytes.
          for byte in request.utf8 { client.offer(ByteBuffer(bytes: [byte])) }
        }
        if isOwn {
          _ = try await client.receive(through: answer)
        } else {
          #expect(try await client.receiveToEnd().contains("HTTP/1.1 403 Forbidden\r\n"))
        }
        client.close()
      }
    }
  }

  /// Opens a tunnel to an echoing server.
  private func tunnel() async throws -> (WireEnd, ProxyFixture) {
    let other = try await OtherServer()
    let fixture = try await ProxyFixture(allowed: ["127.0.0.1:\(other.port)"])
    return (try await fixture.tunnel(to: "127.0.0.1:\(other.port)"), fixture)
  }

  @Test(
    "tunneled bytes pass unchanged unless they are a plain GET",
    arguments: ["\u{16}\u{3}\u{1}", "SSH-2.0-x\r\n", "G", "GE!", "POST / HTTP/1.1\r\n"])
  func opaqueTunnel(_ text: String) async throws {
    let (client, fixture) = try await tunnel()
    defer { withExtendedLifetime(fixture) {} }
    try await client.send(text)
    // Nothing more may follow "G".
    if text == "G" { try await client.endOutput() }
    _ = try await client.receive(through: text)
    client.close()
  }

  @Test("a tunneled GET with an oversized head is refused")
  func longTunnelledRequest() async throws {
    let (client, fixture) = try await tunnel()
    defer { withExtendedLifetime(fixture) {} }
    client.offer(ByteBuffer(string: "GET /" + String(repeating: "a", count: 200_000) + " HTTP/1.1\r\n"))
    #expect(try await client.receiveToEnd().hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
  }

  @Test("a listener without a TCP port applies the same rules, because a port may lead to it")
  func otherListener() async throws {
    let calls = Calls()
    let fixture = try await ProxyFixture(
      listen: "loopback:listener-\(UInt64.random(in: 0 ... .max))", respond: calls.respond)
    let client = try fixture.http2()
    #expect(try await client.get("http://evil.example/").status == .misdirectedRequest)
    var request = try Request(.post, url: "http://localhost:8080/")
    request.head.headerFields[.init("origin")!] = "http://evil.example"
    #expect(try await client.execute(request).status == .forbidden)
    #expect(calls.count == 0)
    #expect(try await client.get("http://localhost:8080/").status == .ok)
    await client.shutDown()
  }

  @Test("a name set by the user is accepted")
  func named() async throws {
    let fixture = try await ProxyFixture(change: { $0.names = ["device.example"] })
    #expect(try await fixture.exchange("GET / HTTP/1.1\r\nHost: device.example").hasPrefix("HTTP/1.1 200 OK\r\n"))
  }

  @Test("on a Unix socket every host is accepted, because no page can reach it")
  func unixSocket() async throws {
    let path = "/tmp/byway-\(UInt32.random(in: 0 ... .max)).sock"
    let fixture = try await ProxyFixture(listen: "unix:\(path)")
    #expect(fixture.proxy.address.text == "unix:\(path)")
    for host in ["evil.example", "localhost", "x"] {
      #expect(try await fixture.exchange("GET / HTTP/1.1\r\nHost: \(host)").hasPrefix("HTTP/1.1 200 OK\r\n"))
    }
    // An HTTP/1.0 client may omit the host.
    #expect(try await fixture.exchange("GET /old HTTP/1.0").hasSuffix("GET localhost /old \n"))
  }

  @Test("over a link to an ordinary server, other servers cannot be reached")
  func ordinaryServer() async throws {
    let fixture = try await ProxyFixture(options: "?http=1.1", respond: nil)
    let absolute = try await fixture.exchange("GET http://elsewhere.example/ HTTP/1.1\r\nHost: localhost")
    #expect(absolute.hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
    let tunnel = try await fixture.exchange("CONNECT elsewhere.example:1 HTTP/1.1\r\nHost: elsewhere.example:1")
    #expect(tunnel.hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
    let own = try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost")
    #expect(own.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
  }

  @Test("an invalid name and an address in use are reported at the start")
  func badConfiguration() async throws {
    let error = await #expect(throws: BywayError.self) {
      _ = try await ProxyFixture(change: { $0.names = ["not a name"] })
    }
    #expect(error?.code == .invalidAddress)
    let first = try await ProxyFixture()
    let taken = first.proxy.address.text
    let second = await #expect(throws: BywayError.self) { _ = try await ProxyFixture(listen: taken) }
    #expect(second?.code == .linkUnavailable)
  }
}

/// An origin that counts requests.
private final class Calls: Sendable {
  private let counter = Mutex(0)

  var count: Int { counter.withLock { $0 } }

  @Sendable func respond(_ request: Request) async throws -> Response {
    counter.withLock { $0 += 1 }
    return Response(status: .ok)
  }
}
