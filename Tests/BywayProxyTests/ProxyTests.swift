import Byway
import BywayProxy
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import TestWire
import Testing

/// Services of a proxy at its address.
@Suite(.timeLimit(.minutes(1)), .cleansUp) struct ProxyTests {
  @Test("a request in origin form goes to the gateway's origin")
  func originForm() async throws {
    let fixture = try await ProxyFixture()
    let response = try await fixture.exchange(
      "POST /a?b HTTP/1.1\r\nHost: localhost:\(fixture.port)\r\nContent-Length: 4", body: "body")
    #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(response.contains("via: 2.0 byway-proxy-"))
    #expect(response.hasSuffix("\r\n\r\nPOST localhost:\(try fixture.port) /a?b body\n"))
  }

  @Test("HTTP/2 with prior knowledge is served on the same port")
  func http2() async throws {
    let fixture = try await ProxyFixture()
    let client = try fixture.http2()
    let response = try await client.execute(
      Request(.put, url: "http://127.0.0.1:\(fixture.port)/x", body: Body("content")))
    #expect(response.status == .ok)
    let body = String(buffer: try await response.body.collect(upTo: 1000))
    #expect(body == "PUT 127.0.0.1:\(try fixture.port) /x content\n")
    await client.shutDown()
  }

  @Test("the HTTP version is detected from the first bytes, however they are split")
  func drippingPreface() async throws {
    let fixture = try await ProxyFixture()
    let http2 = try await fixture.wire()
    for byte in "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8 { http2.offer(ByteBuffer(bytes: [byte])) }
    http2.offer(ByteBuffer(bytes: [0, 0, 0, 4, 0, 0, 0, 0, 0]))
    let frame = try await http2.receive(count: 9)
    #expect(frame.getInteger(at: frame.readerIndex + 3, as: UInt8.self) == 4, "SETTINGS comes first")
    http2.close()

    let http1 = try await fixture.wire()
    for byte in "PRIx / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8 {
      http1.offer(ByteBuffer(bytes: [byte]))
    }
    #expect(try await http1.receiveToEnd().contains("PRIx localhost /"))
  }

  @Test("a connection with another protocol than HTTP/1.1 and HTTP/2 gets one explanation")
  func neither() async throws {
    let fixture = try await ProxyFixture()
    let client = try await fixture.wire()
    client.offer(ByteBuffer(bytes: [0x16, 0x03, 0x01, 0x02, 0x00, 0x01]))
    #expect(try await client.receiveToEnd().hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
  }

  @Test("a client that leaves before its HTTP version is known is closed", arguments: ["", "PRI", "GE"])
  func leaves(beginning: String) async throws {
    let fixture = try await ProxyFixture()
    let client = try await fixture.wire()
    try await client.send(beginning)
    try await client.endOutput()
    let answer = try await client.receiveToEnd()
    #expect(answer.isEmpty == beginning.isEmpty)
  }

  @Test("a request in absolute form reaches only what the gateway allows")
  func absoluteForm() async throws {
    let other = try await OtherServer(answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother")
    let fixture = try await ProxyFixture(allowed: ["127.0.0.1:\(other.port)"])
    let allowed = try await fixture.exchange("GET http://127.0.0.1:\(other.port)/ HTTP/1.1\r\nHost: x")
    #expect(allowed.hasSuffix("\r\n\r\nother"))
    let refused = try await fixture.exchange("GET http://elsewhere.example/ HTTP/1.1\r\nHost: localhost")
    #expect(refused.hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
    #expect(refused.contains("add elsewhere.example:80 to its allowed"))
    let own = try await fixture.exchange("GET http://localhost:\(fixture.port)/own HTTP/1.1\r\nHost: x")
    #expect(own.contains("GET localhost:\(try fixture.port) /own"))
  }

  @Test("CONNECT opens a tunnel only to what the gateway allows")
  func connect() async throws {
    let echo = try await OtherServer()
    let fixture = try await ProxyFixture(allowed: ["127.0.0.1:\(echo.port)"])
    let client = try await fixture.wire()
    try await client.send("CONNECT 127.0.0.1:\(echo.port) HTTP/1.1\r\nHost: 127.0.0.1:\(echo.port)\r\n\r\nearly")
    #expect(try await client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200 OK\r\n"))
    _ = try await client.receive(through: "early")
    let bytes = ByteBuffer(bytes: (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    client.offer(bytes)
    #expect(try await client.receive(count: bytes.readableBytes) == bytes)
    try await client.endOutput()
    #expect(try await client.receiveToEnd() == "")
    let refused = try await fixture.exchange("CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example:443")
    #expect(refused.hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
  }

  @Test("a WebSocket reaches the origin as an extended CONNECT")
  func webSocket() async throws {
    let fixture = try await ProxyFixture { request in
      #expect(request.head.method == .connect)
      #expect(request.head.extendedConnectProtocol == "websocket")
      return Response(status: .ok, body: Body(request.body))
    }
    let client = try await fixture.wire()
    try await client.send(
      "GET /chat HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
    let head = try await client.receive(through: "\r\n\r\n")
    #expect(head.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"))
    #expect(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
    for frame in ["one", "two"] {
      try await client.send(frame)
      _ = try await client.receive(through: frame)
    }
    try await client.endOutput()
    #expect(try await client.receiveToEnd() == "")
    await fixture.stop()
  }

  @Test("interceptors see the proxy's requests, and can answer them")
  func interceptors() async throws {
    struct Teapot: Interceptor {
      var scope: Scope { Scope(paths: ["/tea"]) }
      func intercept(_ request: Request, next: Next) async throws -> Response { Response(status: .init(code: 418)) }
    }
    let fixture = try await ProxyFixture(change: { $0.interceptors = [Teapot()] })
    #expect(try await fixture.exchange("GET /tea HTTP/1.1\r\nHost: localhost").hasPrefix("HTTP/1.1 418 "))
    #expect(try await fixture.exchange("GET /coffee HTTP/1.1\r\nHost: localhost").hasPrefix("HTTP/1.1 200 "))
  }

  @Test("many concurrent clients share the link")
  func many() async throws {
    let fixture = try await ProxyFixture()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<100 {
        group.addTask {
          let response = try await fixture.exchange("GET /\(index) HTTP/1.1\r\nHost: localhost")
          #expect(response.contains("GET localhost /\(index) \n"))
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("a request waits for a link that is down up to the link timeout, then gets 503 with the cause")
  func linkDown() async throws {
    let fixture = try await ProxyFixture(respond: nil, change: { $0.patience = .milliseconds(100) })
    let response = try await fixture.exchange("GET / HTTP/1.1\r\nHost: localhost")
    #expect(response.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
    #expect(response.contains("proxy-status: byway-proxy-"))
    #expect(response.contains("application/problem+json"))
    #expect(response.contains("loopback:proxy-"))
  }

  @Test("stopping the proxy lets running requests finish, then closes all connections")
  func stop() async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let leave = AsyncStream.makeStream(of: Void.self)
    let fixture = try await ProxyFixture(respond: { _ in
      arrived.continuation.yield()
      for await _ in leave.stream { break }
      return Response(status: .ok, body: Body("done"))
    })
    let idle = try await fixture.wire()
    async let response = fixture.exchange("GET / HTTP/1.1\r\nHost: localhost")
    for await _ in arrived.stream { break }
    async let stopped: Void = fixture.proxy.stop(within: .seconds(20))
    #expect(try await idle.receiveToEnd() == "")
    leave.continuation.yield()
    #expect(try await response.hasSuffix("\r\n\r\ndone"))
    await stopped
    try await fixture.proxy.waitUntilEnded()
    await #expect(throws: (any Error).self) { try await fixture.wire() }
    await fixture.gateway?.stop(within: .zero)
  }

  @Test("requests that do not finish in time are aborted")
  func stopCutsOff() async throws {
    let arrived = AsyncStream.makeStream(of: Void.self)
    let fixture = try await ProxyFixture(respond: { request in
      arrived.continuation.yield()
      // Ends when the exchange is cancelled.
      for try await _ in request.body {}
      return Response(status: .ok)
    })
    let client = try await fixture.wire()
    try await client.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n")
    for await _ in arrived.stream { break }
    await fixture.proxy.stop(within: .milliseconds(10))
    #expect(try await client.receiveToEnd() == "")
    await fixture.gateway?.stop(within: .zero)
  }
}
