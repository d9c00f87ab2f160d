import Byway
import BywayHTTPWire
import NIOCore
import TestWire
import Testing

/// Hostile HTTP/1.1 clients, and the memory that a connection uses for them.
@Suite(.timeLimit(.minutes(1))) struct HTTP1ServerHostileTests {
  /// The limit at which reading stops, plus the bytes that one turn of the loop may read beyond it: four times a full buffer.
  private static let bound = (256 + 4 * 256) * 1024

  @Test(
    "a request with ambiguous framing is refused, and nothing after it is parsed",
    arguments: [
      "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
      "Content-Length: +4\r\n\r\nabcd",
      "Content-Length: 4, 5\r\n\r\nabcd",
      "Content-Length: 99999999999999999999\r\n\r\n",
      "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding:\u{0B}chunked\r\n\r\n0\r\n\r\n",
      "X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "X: a\rY: b\r\n\r\n",
      "X: a\u{0}b\r\n\r\n",
      "Host: there\r\n\r\n",
    ])
  func smuggling(fields: String) async throws {
    let server = try await HTTP1ServerFixture { $0.answerNow([":status": "200"]) }
    try await server.client.send(
      "POST / HTTP/1.1\r\nHost: here\r\n\(fields)GET /smuggled HTTP/1.1\r\nHost: here\r\n\r\n")
    let response = try await server.client.receiveToEnd()
    #expect(["400", "413", "501"].contains(response.dropFirst(9).prefix(3)))
    #expect(response.components(of: "HTTP/1.1 ") == 1)
    #expect(try await server.handler.count == 0)
  }

  @Test(
    "an invalid chunk ends the exchange, and nothing after it is parsed",
    arguments: [
      "0x4\r\nabcd\r\n0\r\n\r\n", "-4\r\nabcd\r\n", "4 \r\nabcd\r\n", "FFFFFFFFFFFFFFFFF\r\nabcd\r\n", "4\nabcd\n0\n\n",
      "4\r\nabcdX\r\n0\r\n\r\n",
    ])
  func badChunks(body: String) async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.send(
      "POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n\(body)"
        + "GET /smuggled HTTP/1.1\r\nHost: here\r\n\r\n")
    _ = try await server.handler.exchange().cancelled()
    let response = try await server.client.receiveToEnd()
    #expect(["400", "413"].contains(response.dropFirst(9).prefix(3)))
    #expect(response.components(of: "HTTP/1.1 ") == 1)
    #expect(try await server.handler.count == 1)
  }

  @Test(
    "every kind of invalid request has its own status",
    arguments: [
      ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505), ("\u{16}\u{3}\u{1}\u{2}", 400),
      ("GET /\(String(repeating: "a", count: 20_000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
      ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 70_000))\r\n\r\n", 431),
      ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    ])
  func statuses(request: String, status: Int) async throws {
    let server = try await HTTP1ServerFixture()
    server.client.offer(ByteBuffer(string: request))
    let response = try await server.client.receiveToEnd()
    #expect(response.hasPrefix("HTTP/1.1 \(status) "))
    #expect(response.contains("Connection: close\r\n"))
    #expect(response.contains("\"status\":\(status)"))
  }

  @Test("a body that violates its framing after the response began aborts the response")
  func violationWithinExchange() async throws {
    let server = try await HTTP1ServerFixture()
    let exchange = try await server.exchange(
      "POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", begin: [":status": "200"])
    _ = try await server.client.receive(through: "\r\n\r\n")
    try await server.client.send("nonsense\r\n")
    _ = try await exchange.cancelled()
    #expect(try await server.client.receiveToEnd() == "")
  }

  @Test("a client that stops reading stops its own response, and memory use stays limited")
  func slowReader() async throws {
    let server = try await HTTP1ServerFixture()
    try await server.client.setReading(false)
    let exchange = try await server.exchange("GET / HTTP/1.1\r\nHost: here\r\n\r\n", begin: [":status": "200"])
    let chunk = ByteBuffer(repeating: 0x61, count: 64 * 1024)
    // As every upstream does, stays within 256 KiB of the consumed bytes.
    var sent = 0
    while sent < 64 << 20 {
      guard try await sent - exchange.consumedBytes < 256 * 1024 else { break }
      try await exchange.send(chunk)
      sent += chunk.readableBytes
    }
    #expect(sent < 64 << 20)
    try await exchange.end()
    try await server.client.setReading(true)
    _ = try await server.client.receive(count: sent)
    #expect(try await server.client.receive(through: "\r\n0\r\n\r\n").utf8.count < 64 * 1024)
  }

  @Test("a handler that stops consuming stops its own request, and memory use stays limited")
  func slowHandler() async throws {
    let server = try await HTTP1ServerFixture()
    let size = 64 << 20
    let exchange = try await server.exchange("PUT / HTTP/1.1\r\nHost: here\r\nContent-Length: \(size)\r\n\r\nx")
    try await exchange.requestBody(until: "x")
    try await exchange.setConsuming(false)
    let chunk = ByteBuffer(repeating: 0x61, count: 1 << 20)
    for _ in 0..<64 { server.client.offer(chunk) }
    let count = try await exchange.settledRequestBytes()
    #expect(count <= Self.bound)
    try await exchange.setConsuming(true)
    try await exchange.requestBody(count: size)
  }

  @Test("while a client reads no responses, no further pipelined requests are answered", arguments: [true, false])
  func unreadPipeline(isRefused: Bool) async throws {
    let body = String(repeating: "a", count: 64 * 1024)
    let server = try await HTTP1ServerFixture { exchange in
      if isRefused {
        exchange.failNow(BywayError(.refused, body, processing: .none))
      } else {
        exchange.answerNow([":status": "200"], body)
      }
    }
    try await server.client.setReading(false)
    try await server.client.send(String(repeating: "GET / HTTP/1.1\r\nHost: here\r\n\r\n", count: 400))
    // As many as the system's buffers hold, plus one or two.
    #expect(try await server.handler.settledCount() < 250)
    try await server.client.setReading(true)
    _ = try await server.handler.exchange(399)
  }

  @Test("an endless pipeline waits in the socket buffer, not in memory")
  func endlessPipeline() async throws {
    let server = try await HTTP1ServerFixture()
    let requests = String(repeating: "GET / HTTP/1.1\r\nHost: here\r\n\r\n", count: 100_000)
    server.client.offer(ByteBuffer(string: requests))
    let exchange = try await server.handler.exchange()
    let buffered = try await server.watch.settled { server.connection.value.bufferedBytes }
    #expect(try await server.handler.count == 1)
    #expect(buffered <= Self.bound)
    try await server.client.reset()
    _ = try await exchange.cancelled()
  }
}

extension String {
  fileprivate func components(of text: String) -> Int {
    ranges(of: text).count
  }
}
