import BywayHTTPWire
import NIOCore
import NIOEmbedded
import TestWire
import Testing

@testable import Byway

/// Memory accounting of served exchanges, and the end of those that hold too much.
@Suite("Memory of served requests", .timeLimit(.minutes(1))) struct ServedMemoryTests {
  private static let upload = "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 1000000\r\n\r\n"

  /// Ends an exchange, after which nothing may be held.
  private func expectRelease(
    of budget: MemoryBudget, after exchange: ScriptedExchange, of server: HTTP1ServerFixture
  ) async throws {
    try await exchange.answer([":status": "204"])
    _ = try await server.client.receive(through: "\r\n\r\n")
    try await server.watch.until("nothing is held") { budget.held == 0 }
  }

  @Test("an unread upload gets 503 when memory is used up, and its bytes are released")
  func upload() async throws {
    let budget = MemoryBudget(limit: 100_000)
    let server = try await HTTP1ServerFixture(memory: budget)
    try await server.client.send(Self.upload)
    let exchange = try await server.handler.exchange()
    try await exchange.setConsuming(false)
    server.client.offer(ByteBuffer(repeating: 0, count: 150_000))
    let response = try await server.client.receive(through: "\r\n\r\n")
    #expect(response.hasPrefix("HTTP/1.1 503 "))
    #expect(try await exchange.cancelled().code == .refused)
    try await server.watch.until("nothing is held") { budget.held == 0 }
    #expect(budget.refused == 1)
  }

  @Test("a response that its client does not read is aborted when memory is used up")
  func unread() async throws {
    let budget = MemoryBudget(limit: 4_000_000)
    let server = try await HTTP1ServerFixture(memory: budget)
    try await server.client.setReading(false)
    let exchange = try await server.exchange("GET / HTTP/1.1\r\nHost: here\r\n\r\n", begin: [":status": "200"])
    // More than the socket buffers hold.
    for _ in 0..<12 { try await exchange.send(ByteBuffer(repeating: 0, count: 1_000_000)) }
    #expect(try await exchange.cancelled().code == .refused)
    try await server.watch.until("nothing is held") { budget.held == 0 }
  }

  @Test("a body kept for repetition counts until the response begins")
  func kept() async throws {
    let budget = MemoryBudget(limit: 1 << 20)
    let server = try await HTTP1ServerFixture(memory: budget)
    try await server.client.send(Self.upload)
    server.client.offer(ByteBuffer(repeating: 0, count: 60_000))
    let exchange = try await server.handler.exchange()
    try await exchange.requestBody(count: 60_000)
    // A connection reports in steps.
    #expect(budget.held > 60_000 - MemoryAccount.step)
    try await exchange.begin([":status": "200"])
    #expect(budget.held < 1000)
  }

  @Test("a head counts as memory while its exchange runs, and is released afterwards")
  func head() async throws {
    let budget = MemoryBudget(limit: 1 << 20)
    let server = try await HTTP1ServerFixture(memory: budget)
    let long = String(repeating: "h", count: 40_000)
    let exchange = try await server.exchange("GET / HTTP/1.1\r\nHost: here\r\nX-Long: \(long)\r\n\r\n")
    #expect(budget.held > 40_000)
    try await expectRelease(of: budget, after: exchange, of: server)
  }

  @Test("trailers of a request count as memory until the response has ended")
  func requestTrailers() async throws {
    let budget = MemoryBudget(limit: 1 << 20)
    let server = try await HTTP1ServerFixture(memory: budget)
    let (long, end) = (String(repeating: "h", count: 22_000), String(repeating: "t", count: 15_000))
    try await server.client.send(
      "POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\nX-Long: \(long)\r\n\r\n")
    let exchange = try await server.handler.exchange()
    #expect(budget.held == 0)
    try await server.client.send("0\r\nX-End: \(end)\r\n\r\n")
    try await server.watch.until("the trailers count") { budget.held > 37_000 }
    try await expectRelease(of: budget, after: exchange, of: server)
  }

  @Test("the rest of a complete response counts as memory while its client does not read, and may be dropped")
  func unreadRest() async throws {
    let budget = MemoryBudget(limit: 64 << 20)
    let server = try await HTTP1ServerFixture(memory: budget)
    try await server.client.setReading(false)
    let exchange = try await server.exchange("GET / HTTP/1.1\r\nHost: here\r\n\r\n", begin: [":status": "200"])
    // More than the socket buffers hold.
    for _ in 0..<12 { try await exchange.send(ByteBuffer(repeating: 0, count: 1_000_000)) }
    try await exchange.end()
    // The end is delivered with the output of the same turn.
    try await server.watch.run {}
    let running = try await server.watch.run { [connection = server.connection] in connection.value.runningExchanges }
    #expect(running == 0)
    #expect(budget.held > 1_000_000)
    budget.limit = 1_000_000
    let other = MemoryAccount(budget, on: server.watch.eventLoop)
    try await server.watch.run {
      other.open { false }
      other.change(by: 40_000)
    }
    try await server.watch.until("the rest is dropped") { budget.held == 40_000 }
    #expect(budget.refused > 0)
    try await server.watch.run { other.close() }
    #expect(budget.held == 0)
  }

  @Test("an incomplete head counts as memory, although no request has begun")
  func incompleteHead() async throws {
    let budget = MemoryBudget(limit: 1 << 20)
    let server = try await HTTP1ServerFixture(memory: budget)
    let long = String(repeating: "h", count: 20_000)
    try await server.client.send("GET / HTTP/1.1\r\nHost: here\r\nX-Long: \(long)\r\nX-Next: \(long)")
    // A connection reports in steps, and the head may arrive in several.
    try await server.watch.until("the head counts") { budget.held > MemoryAccount.step }
    try await server.client.send("\r\n\r\n")
    try await server.handler.exchange().answer([":status": "204"])
    _ = try await server.client.receive(through: "\r\n\r\n")
    try await server.watch.until("nothing is held") { budget.held == 0 }
  }

  @Test("while memory is short, a client above its share is not read from, until there is room again")
  func paused() async throws {
    // Four accounts have a share of 225,000 bytes each. A request alone would be read up to 262,144.
    let budget = MemoryBudget(limit: 1_200_000)
    let server = try await HTTP1ServerFixture(memory: budget)
    let others = (1...3).map { _ in MemoryAccount(budget, on: server.watch.eventLoop) }
    try await server.watch.run {
      for other in others {
        other.open { false }
        other.change(by: 233_000)
      }
    }
    try await server.client.send(Self.upload)
    let exchange = try await server.handler.exchange()
    try await exchange.setConsuming(false)
    server.client.offer(ByteBuffer(repeating: 0, count: 190_000))
    try await exchange.requestBody(count: 190_000)
    // Exceeds the share by less than what the request alone may be ahead.
    server.client.offer(ByteBuffer(repeating: 0, count: 50_000))
    try await server.watch.until("memory is short") { budget.isTight }
    let bytes = try await exchange.settledRequestBytes()
    #expect((190_000...240_000).contains(bytes))
    server.client.offer(ByteBuffer(repeating: 0, count: 760_000))
    #expect(try await exchange.settledRequestBytes() == bytes)
    try await exchange.setConsuming(true)
    try await server.watch.run { for other in others { other.close() } }
    try await exchange.requestBody(count: 1_000_000)
    #expect(budget.refused == 0)
  }

  @Test("the read buffers of a channel take at most 128 KiB") func readBuffers() throws {
    let channel = EmbeddedChannel()
    try channel.prepareForHandover().wait()
    var reads: (any RecvByteBufferAllocator)?
    var count: UInt?
    for (option, value) in channel.options {
      switch option {
      case is ChannelOptions.Types.RecvAllocatorOption: reads = value as? any RecvByteBufferAllocator
      case is ChannelOptions.Types.MaxMessagesPerReadOption: count = value as? UInt
      default: break
      }
    }
    var allocator = try #require(reads)
    for _ in 0..<20 { _ = allocator.record(actualReadBytes: try #require(allocator.nextBufferSize())) }
    #expect(try #require(allocator.nextBufferSize()) * Int(try #require(count)) <= 128 * 1024)
    _ = try channel.finish()
  }

  @Test("a tunnel whose far end does not read ends when its client closes the socket")
  func abandoned() async throws {
    let server = try await HTTP1ServerFixture(probing: .milliseconds(20))
    let exchange = try await server.exchange(
      "CONNECT there:443 HTTP/1.1\r\nHost: there:443\r\n\r\n", begin: [":status": "200"])
    _ = try await server.client.receive(through: "\r\n\r\n")
    try await exchange.setConsuming(false)
    try await server.client.send("unread")
    server.client.close()
    #expect(try await exchange.cancelled().code == .cancelled)
  }

  @Test("a tunnel whose client has only ended its direction continues")
  func halfClosed() async throws {
    let server = try await HTTP1ServerFixture(probing: .milliseconds(5))
    let exchange = try await server.exchange(
      "CONNECT there:443 HTTP/1.1\r\nHost: there:443\r\n\r\n", begin: [":status": "200"])
    _ = try await server.client.receive(through: "\r\n\r\n")
    try await exchange.setConsuming(false)
    try await server.client.send("all")
    try await server.client.endOutput()
    _ = try await exchange.requestBody()
    try await server.watch.until("it was looked for") { server.connection.value.absenceLooks > 3 }
    try await exchange.send("late answer")
    _ = try await server.client.receive(through: "late answer")
  }
}
