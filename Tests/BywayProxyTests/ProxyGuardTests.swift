import Byway
import BywayProxy
import HTTPTypes
import NIOCore
import Synchronization
import TestWire
import Testing

/// Who is kept from using a proxy, seen from outside.
@Suite(.timeLimit(.minutes(1))) struct ProxyGuardTests {
  @Test(
    "another host is misdirected over HTTP/1.1, and the origin never hears of it",
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
    #expect(response.contains("--name"))
    #expect(calls.count == 0)
    await fixture.stop()
  }

  @Test("another host is misdirected over HTTP/2, and so is a mark of absolute form that the client made itself")
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
    await fixture.stop()
  }

  @Test(
    "a page from elsewhere is refused, whatever it sends",
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
    await fixture.stop()
  }

  @Test("a name that the user gave is answered for")
  func named() async throws {
    let fixture = try await ProxyFixture(change: { $0.names = ["device.example"] })
    #expect(try await fixture.exchange("GET / HTTP/1.1\r\nHost: device.example").hasPrefix("HTTP/1.1 200 OK\r\n"))
    await fixture.stop()
  }

  @Test("on a Unix socket every host is fine, because no page can reach it")
  func unixSocket() async throws {
    let path = "/tmp/byway-\(UInt32.random(in: 0 ... .max)).sock"
    let fixture = try await ProxyFixture(listen: "unix:\(path)")
    #expect(fixture.proxy.address.text == "unix:\(path)")
    for host in ["evil.example", "localhost", "x"] {
      #expect(try await fixture.exchange("GET / HTTP/1.1\r\nHost: \(host)").hasPrefix("HTTP/1.1 200 OK\r\n"))
    }
    // A client of HTTP/1.0 need not name one.
    #expect(try await fixture.exchange("GET /old HTTP/1.0").hasSuffix("GET localhost /old \n"))
    await fixture.stop()
  }

  @Test("over a link to an ordinary server nothing else can be reached")
  func ordinaryServer() async throws {
    let fixture = try await ProxyFixture(options: "?http=1.1", respond: nil)
    let absolute = try await fixture.exchange("GET http://elsewhere.example/ HTTP/1.1\r\nHost: localhost")
    #expect(absolute.hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
    let tunnel = try await fixture.exchange("CONNECT elsewhere.example:1 HTTP/1.1\r\nHost: elsewhere.example:1")
    #expect(tunnel.hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
    let own = try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost")
    #expect(own.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
    await fixture.stop()
  }

  @Test("a name that is none, and an address that is taken, are told at the start")
  func badConfiguration() async throws {
    let error = await #expect(throws: BywayError.self) {
      _ = try await ProxyFixture(change: { $0.names = ["not a name"] })
    }
    #expect(error?.code == .invalidAddress)
    let first = try await ProxyFixture()
    let taken = first.proxy.address.text
    let second = await #expect(throws: BywayError.self) { _ = try await ProxyFixture(listen: taken) }
    #expect(second?.code == .linkUnavailable)
    await first.stop()
  }
}

/// An origin that counts.
private final class Calls: Sendable {
  private let counter = Mutex(0)

  var count: Int { counter.withLock { $0 } }

  @Sendable func respond(_ request: Request) async throws -> Response {
    counter.withLock { $0 += 1 }
    return Response(status: .ok)
  }
}
