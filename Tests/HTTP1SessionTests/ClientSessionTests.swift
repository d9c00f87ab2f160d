import BywayHTTP1Session
import BywayHTTPWire
import NIOCore
import Testing

/// The client side of a connection in virtual time: sent bytes, events, and reuse.
@Suite struct ClientSessionTests {
  @Test("a client session carries one exchange after another, and marks a response head without content as complete")
  func reuse() throws {
    let client = ClientEnd()
    for _ in 0..<3 {
      #expect(client.session.isReusable)
      try client.begin()
      #expect(!client.session.isReusable)
      #expect(client.sent() == "GET / HTTP/1.1\r\nHost: here\r\n\r\n")
      client.receive("HTTP/1.1 204 No Content\r\n\r\n")
      #expect(client.take() == ["head 204 complete"])
    }
    #expect(client.session.isReusable && client.session.ending == nil)
  }

  @Test("an invalid request leaves the connection unchanged")
  func unwritable() throws {
    let client = ClientEnd()
    #expect(throws: HTTP1Failure.self) { try client.begin("GET", [("bad name", "x")]) }
    #expect(client.session.isReusable && client.sent() == "")
    try client.begin()
    #expect(client.sent().hasPrefix("GET / "))
  }

  @Test("content of a request is credited when it has been sent")
  func credit() throws {
    let client = ClientEnd()
    try client.begin("POST", isComplete: false)
    client.write("some")
    client.drain()
    #expect(client.take() == [])
    #expect(client.sent().hasSuffix("4\r\nsome\r\n"))
    #expect(client.take() == ["drained 4"])
    client.write(String(repeating: "x", count: 10_000))
    let half = client.session.nextTransmit(maximum: 5000, at: client.now)
    client.drain()
    // The chunk's size comes first.
    #expect(half.map { $0.readableBytes <= 5000 } == true)
    _ = client.sent()
    #expect(client.take().compactMap { Int($0.dropFirst("drained ".count)) }.reduce(0, +) == 10_000)
  }

  @Test("a response before the end of the request ends the connection, as the request cannot be completed")
  func early() throws {
    let client = ClientEnd()
    try client.begin("POST", isComplete: false)
    client.write("some")
    _ = client.sent()
    client.receive("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
    #expect(client.take() == ["drained 4", "head 413 complete"])
    #expect(client.session.ending == .abort(byReset: false) && !client.session.isReusable)
  }

  @Test("unsolicited bytes end an idle connection, and are not used as a response")
  func unsolicited() throws {
    let client = ClientEnd()
    client.receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    #expect(client.take() == [])
    #expect(client.session.ending == .abort(byReset: false))
  }

  @Test("a server that stops reading is abandoned, and a slow one is not")
  func stalled() throws {
    var configuration = HTTP1ClientSession.Configuration()
    configuration.stallTimeout = .seconds(10)
    let client = ClientEnd(configuration)
    try client.begin("POST", isComplete: false)
    _ = client.sent()
    client.pass(.seconds(100))
    #expect(client.take() == [])
    for _ in 0..<5 {
      client.write(String(repeating: "x", count: 100))
      client.pass(.seconds(9))
      _ = client.session.nextTransmit(maximum: 50, at: client.now)
    }
    #expect(!client.take().contains("failed stalled"))
    client.pass(.seconds(10))
    #expect(client.take().last == "failed stalled")
    #expect(client.session.ending == .abort(byReset: false))
  }

  @Test("content of declared length may not pause unless its reader does, and other content may")
  func paused() throws {
    var configuration = HTTP1ClientSession.Configuration()
    configuration.bodyTimeout = .seconds(10)
    let held = ClientEnd(configuration)
    try held.begin()
    held.receive("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while held.session.admitRead() { held.receive(String(repeating: "x", count: 64 * 1024)) }
    held.pass(.seconds(1000))
    #expect(held.session.ending == nil)
    held.session.consume(1_000_000)
    #expect(held.session.releaseRead(at: held.now))
    held.pass(.seconds(9))
    #expect(held.session.ending == nil)
    held.pass(.seconds(1))
    #expect(held.take().last == "failed paused")

    let events = ClientEnd(configuration)
    try events.begin()
    events.receive("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
    events.pass(.seconds(10_000))
    #expect(events.session.ending == nil)
  }

  @Test("an idle connection ends after its timeout, and a cancelled one at once")
  func endings() throws {
    let idle = ClientEnd()
    idle.pass(.seconds(49))
    #expect(idle.session.isReusable)
    idle.pass(.seconds(1))
    #expect(idle.session.ending == .abort(byReset: false))

    let cancelled = ClientEnd()
    try cancelled.begin()
    cancelled.session.cancel()
    #expect(cancelled.session.ending == .abort(byReset: false))
    cancelled.receive("HTTP/1.1 204 No Content\r\n\r\n")
    #expect(cancelled.take() == [] && !cancelled.session.wantsTransmit)
  }

  @Test("bytes and end that a client sends before its tunnel is open are sent after the response")
  func earlyTunnel() throws {
    let client = ClientEnd()
    try client.begin("CONNECT", isComplete: false)
    client.write("early ")
    client.write("words")
    client.finish()
    #expect(client.sent() == "CONNECT here:1 HTTP/1.1\r\nHost: here:1\r\n\r\n")
    #expect(client.session.ending == nil)
    client.receive("HTTP/1.1 200 OK\r\n\r\nand back")
    #expect(client.take() == ["upgraded 200", "data and back"])
    #expect(client.sent() == "early words")
    #expect(client.session.ending == .endOutput)
    // The other direction continues.
    client.receive("more")
    client.receiveEnd()
    #expect(client.take() == ["drained 11", "data more", "end"])
    #expect(client.session.ending == .close(within: .seconds(50)))
  }

  @Test("the end of the client's direction is sent to a WebSocket server after 10 s")
  func webSocket() throws {
    let client = ClientEnd()
    try client.begin("CONNECT", [(":protocol", "websocket"), (":path", "/")], isComplete: false)
    _ = client.sent()
    client.receive("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n")
    client.finish()
    client.pass(.seconds(9))
    #expect(client.session.ending == nil)
    client.pass(.seconds(1))
    #expect(client.session.ending == .endOutput)
  }

  @Test("a refused tunnel leaves the connection reusable, without the early bytes")
  func refusedTunnel() throws {
    let client = ClientEnd()
    try client.begin("CONNECT", isComplete: false)
    client.write("early")
    _ = client.sent()
    client.receive("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    #expect(client.session.isReusable)
    try client.begin("CONNECT", isComplete: false)
    _ = client.sent()
    client.receive("HTTP/1.1 200 OK\r\n\r\n")
    #expect(client.sent() == "")
  }

  @Test("a success other than 101 fails a WebSocket handshake")
  func notUpgraded() throws {
    let client = ClientEnd()
    try client.begin("CONNECT", [(":protocol", "websocket"), (":path", "/")], isComplete: false)
    client.receive("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    #expect(client.take() == ["failed notUpgraded(status: 200)"])
  }

  @Test("a body that contradicts its head fails the exchange once")
  func wrongLength() throws {
    let client = ClientEnd()
    try client.begin("POST", [("content-length", "3")], isComplete: false)
    client.write("four")
    client.write("more")
    client.drain()
    let events = client.take()
    #expect(events.count == 1 && events[0].hasPrefix("failed request"))
  }
}
