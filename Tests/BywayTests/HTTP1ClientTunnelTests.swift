import BywayHTTPWire
import NIOCore
import TestWire
import Testing

@testable import Byway

/// Tunnels to an HTTP/1.1 origin.
@Suite(.timeLimit(.minutes(1))) struct HTTP1ClientTunnelTests {
  private func key(in head: String) throws -> String {
    let range = try #require(head.firstRange(of: "sec-websocket-key: "))
    return String(head[range.upperBound...].prefix(24))
  }

  private func answer(_ key: String) throws -> String {
    var request: FieldSection = ["sec-websocket-key": key]
    let proof = try #require(WebSocketHandshake(answering: &request)).proof
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n"
      + "Sec-WebSocket-Accept: \(proof)\r\nSec-WebSocket-Protocol: chat\r\n\r\n"
  }

  @Test("an extended CONNECT becomes a WebSocket handshake, whose proof is verified and not forwarded")
  func webSocket() async throws {
    let client = try await HTTP1ClientFixture(hop: nil) { $0.webSocketClosing = .zero }
    let response = try await client.begin(.webSocket, isComplete: false)
    try await response.send("early")
    let origin = try await client.origin()
    let head = try await origin.receive(through: "\r\n\r\n")
    #expect(head.hasPrefix("GET /chat HTTP/1.1\r\nHost: device\r\n"))
    #expect(head.contains("sec-websocket-version: 13\r\n"))
    #expect(head.contains("sec-websocket-protocol: chat\r\n"))
    #expect(head.contains("Upgrade: websocket\r\nConnection: upgrade\r\n"))
    // The origin must first agree to the protocol of these bytes.
    #expect(try await origin.peek() == "")
    #expect(try await response.creditedBytes == 0)
    try await origin.send(answer(key(in: head)) + "welcome")
    #expect(try await response.responseHead().text() == ["sec-websocket-protocol: chat", ":status: 200"])
    _ = try await origin.receive(through: "early")
    try await response.credited(5)
    try await response.body(until: "welcome")
    try await response.send("more")
    try await response.end()
    #expect(try await origin.receiveToEnd() == "more")
    try await origin.send("last")
    origin.close()
    #expect(try await response.response().body == "welcomelast")
  }

  @Test("a client that ends a WebSocket still receives the server's data, and its own end is not forwarded at once")
  func closing() async throws {
    let client = try await HTTP1ClientFixture { $0.webSocketClosing = .hours(1) }
    let response = try await client.begin(.webSocket, isComplete: false)
    let origin = try await client.origin()
    try await origin.send(answer(key(in: origin.receive(through: "\r\n\r\n"))))
    _ = try await response.responseHead()
    try await response.send("close")
    try await response.end()
    _ = try await origin.receive(through: "close")
    // Neither credited bytes nor the missing end of the server close the tunnel.
    try await response.credited(5)
    try await origin.send("wait")
    try await response.body(until: "wait")
    #expect(try await origin.hasEnded() == false)
    try await origin.send("closed")
    origin.close()
    #expect(try await response.response().body == "waitclosed")
  }

  @Test("every WebSocket handshake has a new key")
  func freshKeys() async throws {
    let client = try await HTTP1ClientFixture()
    var keys: Set<String> = []
    for index in 0..<8 {
      _ = try await client.begin(.webSocket, isComplete: false)
      keys.insert(try await key(in: client.origin(index).receive(through: "\r\n\r\n")))
    }
    #expect(keys.count == 8)
  }

  @Test(
    "a WebSocket handshake with a wrong proof fails",
    arguments: [
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ])
  func wrongProof(answer: String) async throws {
    let client = try await HTTP1ClientFixture()
    let response = try await client.begin(.webSocket, isComplete: false)
    let origin = try await client.origin()
    _ = try await origin.receive(through: "\r\n\r\n")
    try await origin.send(answer)
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .protocolViolation)
    #expect(try await origin.receiveToEnd() == "")
  }

  @Test("a switch to another protocol than requested fails, with any proof")
  func wrongProtocol() async throws {
    let client = try await HTTP1ClientFixture()
    let response = try await client.begin(.webSocket, isComplete: false)
    let origin = try await client.origin()
    let head = try await origin.receive(through: "\r\n\r\n")
    try await origin.send(answer(key(in: head)).replacing("Upgrade: WebSocket", with: "Upgrade: other"))
    let error = await #expect(throws: BywayError.self) { try await response.response() }
    #expect(error?.code == .protocolViolation)
  }

  @Test("a refused upgrade passes without the client's early bytes, and the connection stays in use")
  func refused() async throws {
    let client = try await HTTP1ClientFixture()
    let response = try await client.begin(.webSocket, isComplete: false)
    try await response.send("early")
    let origin = try await client.origin()
    _ = try await origin.receive(through: "\r\n\r\n")
    try await origin.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
    #expect(try await response.response().body == "no")
    _ = try await client.begin()
    #expect(try await origin.receive(through: "\r\n\r\n").hasPrefix("GET / HTTP/1.1\r\n"))
    #expect(client.connectionCount == 1)
  }

  @Test("CONNECT through another proxy opens a tunnel, which either side can end")
  func connect() async throws {
    let client = try await HTTP1ClientFixture()
    let response = try await client.begin([":method": "CONNECT", ":authority": "there:443"], isComplete: false)
    let origin = try await client.origin()
    #expect(
      try await origin.receive(through: "\r\n\r\n") == "CONNECT there:443 HTTP/1.1\r\nHost: there:443\r\n\r\n")
    try await origin.send("HTTP/1.1 200 Connection established\r\n\r\nhello")
    try await response.send("bytes")
    _ = try await origin.receive(through: "bytes")
    try await origin.endOutput()
    #expect(try await response.response().body == "hello")
    #expect(try await origin.receiveToEnd() == "")
  }
}
