import BywayHTTPWire
import Glibc
import NIOCore
import TestWire
import Testing

@testable import Byway

/// CONNECT and WebSocket of an HTTP/1.1 client.
@Suite(.timeLimit(.minutes(1))) struct HTTP1ServerTunnelTests {
  private static let handshake =
    "GET /chat HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    + "Sec-WebSocket-Protocol: chat\r\n\r\n"

  /// Opens a tunnel.
  private func tunnel() async throws -> (HTTP1ServerFixture, ScriptedExchange) {
    let server = try await HTTP1ServerFixture()
    let exchange = try await server.exchange(
      "CONNECT there:443 HTTP/1.1\r\nHost: there:443\r\n\r\n", begin: [":status": "200"])
    #expect(try await server.client.receive(through: "\r\n\r\n") == "HTTP/1.1 200 OK\r\n\r\n")
    return (server, exchange)
  }

  @Test("CONNECT opens a tunnel, including bytes sent before the response")
  func connect() async throws {
    let server = try await HTTP1ServerFixture()
    let exchange = try await server.exchange("CONNECT there:443 HTTP/1.1\r\nHost: there:443\r\n\r\nearly")
    #expect(!exchange.isComplete)
    #expect(Set(exchange.head.text(without: .via)) == [":method: CONNECT", ":authority: there:443"])
    try await exchange.begin([":status": "200"])
    #expect(try await server.client.receive(through: "\r\n\r\n") == "HTTP/1.1 200 OK\r\n\r\n")
    try await exchange.requestBody(until: "early")
    try await exchange.send("welcome")
    _ = try await server.client.receive(through: "welcome")
    try await server.client.send("GET / HTTP/1.1\r\n")
    try await exchange.requestBody(until: "earlyGET / HTTP/1.1\r\n")
  }

  @Test("each direction of a tunnel ends separately")
  func halfClose() async throws {
    let (server, exchange) = try await tunnel()
    try await server.client.send("all")
    try await server.client.endOutput()
    #expect(try await exchange.requestBody().body == "all")
    try await exchange.send("answer")
    try await exchange.end()
    #expect(try await server.client.receiveToEnd() == "answer")
  }

  @Test("a tunnel that fails is reset")
  func failedTunnel() async throws {
    let (server, exchange) = try await tunnel()
    try await exchange.fail(BywayError(.linkLost, "Gone."))
    #expect(try await server.client.wasReset())
  }

  @Test("a client that leaves its tunnel cancels it")
  func abandonedTunnel() async throws {
    let (server, exchange) = try await tunnel()
    try await server.client.reset()
    #expect(try await exchange.cancelled().code == .cancelled)
  }

  @Test("a TCP client that has ended its direction of a tunnel is probed every five seconds instead of 70")
  func probed() async throws {
    let server = try await HTTP1ServerFixture()
    let idleTime = ChannelOptions.Types.SocketOption(level: .tcp, name: .init(rawValue: TCP_KEEPIDLE))
    func idle() async throws -> Int {
      try await server.watch.run { try? server.connection.value.driver.channel.syncOptions?.getOption(idleTime) } ?? 0
    }
    try await server.client.send("CONNECT there:443 HTTP/1.1\r\nHost: there:443\r\n\r\n")
    let exchange = try await server.handler.exchange()
    try await exchange.begin([":status": "200"])
    _ = try await server.client.receive(through: "\r\n\r\n")
    #expect(try await idle() > 5)
    try await server.client.endOutput()
    _ = try await exchange.requestBody()
    #expect(try await idle() == 5)
    try await exchange.end()
    #expect(try await server.client.receiveToEnd().isEmpty)
  }

  @Test("bytes after a refused CONNECT are never parsed as a request")
  func refusedConnect() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(
      "CONNECT there:443 HTTP/1.1\r\nHost: there:443\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: here\r\n\r\n")
    try await server.handler.exchange().fail(BywayError(.forbidden, "No."))
    let response = try await server.client.receiveToEnd()
    #expect(response.hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
    #expect(response.contains("Connection: close\r\n"))
    #expect(try await server.handler.count == 1)
  }

  @Test("a WebSocket handshake becomes an extended CONNECT, and its response has the proof of RFC 6455 §1.3")
  func webSocket() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(Self.handshake)
    let exchange = try await server.handler.exchange()
    #expect(
      Set(exchange.head.text(without: .via)) == [
        ":method: CONNECT", ":protocol: websocket", ":scheme: http", ":path: /chat", ":authority: here",
        "sec-websocket-version: 13", "sec-websocket-protocol: chat",
      ])
    try await exchange.begin([":status": "200", "sec-websocket-protocol": "chat"])
    let head = try await server.client.receive(through: "\r\n\r\n")
    #expect(head.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"))
    #expect(head.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
    #expect(head.contains("sec-websocket-protocol: chat\r\n"))
    #expect(head.contains("Upgrade: websocket\r\nConnection: upgrade\r\n"))
    try await server.client.send("frame")
    try await exchange.requestBody(until: "frame")
    try await exchange.send("emarf")
    _ = try await server.client.receive(through: "emarf")
  }

  @Test("a WebSocket handshake with Content-Length: 0, as from java.net.http, is accepted")
  func javaWebSocket() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(
      "GET /chat HTTP/1.1\r\nConnection: Upgrade\r\nContent-Length: 0\r\nHost: here\r\nUpgrade: websocket\r\n"
        + "User-Agent: Java-http-client/17.0.17\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        + "Sec-WebSocket-Version: 13\r\n\r\n")
    let exchange = try await server.handler.exchange()
    #expect(exchange.head.value(of: .protocol) == "websocket")
    #expect(!exchange.head.contains(.contentLength))
    try await exchange.begin([":status": "200"])
    #expect(try await server.client.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"))
    try await server.client.send("frame")
    try await exchange.requestBody(until: "frame")
  }

  @Test("a refused WebSocket handshake leaves an ordinary connection")
  func refusedWebSocket() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(Self.handshake)
    try await server.handler.exchange().answer([":status": "403", "content-length": "2"], "no")
    #expect(try await server.client.receive(through: "\r\n\r\nno").hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
    try await server.client.send("GET /2 HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(try await server.handler.exchange(1).head.value(of: .path) == "/2")
  }

  @Test(
    "a WebSocket handshake without a 16-byte key is refused",
    arguments: [
      "", "Sec-WebSocket-Key: short==\r\n", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=!\r\n",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j!Q==\r\n",
    ])
  func badKey(field: String) async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(
      "GET / HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\(field)\r\n")
    #expect(try await server.client.receive(through: "}\n").hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
    #expect(try await server.handler.count == 0)
  }

  @Test(
    "a request with another protocol or method, or without Connection: upgrade, is an ordinary request",
    arguments: [
      "GET / HTTP/1.1\r\nHost: here\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AA\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\n\r\n",
    ])
  func noUpgrade(request: String) async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(request)
    let exchange = try await server.handler.exchange()
    #expect(!exchange.head.contains(.protocol))
    #expect(exchange.head.value(of: .method) != "CONNECT")
    #expect(!exchange.head.text().contains { $0.hasPrefix("upgrade") || $0.hasPrefix("http2-settings") })
    try await exchange.answer([":status": "204"])
    _ = try await server.client.receive(through: "204 No Content\r\n\r\n")
  }
}
