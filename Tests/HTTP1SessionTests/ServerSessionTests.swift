import BywayHTTP1Session
import BywayHTTPWire
import NIOCore
import Testing

/// The server side of a connection in virtual time: events, sent bytes, and its end.
@Suite struct ServerSessionTests {
  private static let get = "GET /1 HTTP/1.1\r\nHost: here\r\n\r\n"

  @Test("pipelined requests are reported one after another, each when the previous one is answered")
  func pipelined() throws {
    let server = ServerEnd()
    server.receive(Self.get + Self.get + "GET /3 HTTP/1.1\r\nHo")
    #expect(server.take() == ["head /1", "end"])
    #expect(!server.session.admitRead(), "no more is read of the next request")
    try server.respond()
    #expect(server.take() == ["closed", "head /1", "end"])
    try server.respond(200, "two")
    #expect(server.take() == ["closed"])
    #expect(server.sent().hasSuffix("3\r\ntwo\r\n0\r\n\r\n"))
    #expect(server.session.releaseRead(at: server.now))
    server.receive("st: here\r\n\r\n")
    #expect(server.take() == ["head /3", "end"])
  }

  @Test("the timeouts between requests and within a head apply separately")
  func waiting() throws {
    let idle = ServerEnd()
    idle.pass(.seconds(74))
    #expect(idle.session.ending == nil && idle.session.idleSince != nil)
    idle.pass(.seconds(1))
    #expect(idle.session.ending == .endOutput)

    let inHead = ServerEnd()
    inHead.pass(.seconds(70))
    inHead.receive("GET ")
    inHead.pass(.seconds(29))
    inHead.receive("/ HTTP/1.1\r\n")
    #expect(inHead.take() == [])
    inHead.pass(.seconds(1))
    #expect(inHead.take() == ["refused 408"])
    try inHead.respond(408, "late")
    #expect(inHead.sent().contains("Connection: close"))
    #expect(inHead.session.ending == .endOutput)
  }

  @Test("the server session has no time limit for an exchange")
  func noLimit() throws {
    let server = ServerEnd()
    server.receive(Self.get)
    #expect(server.session.nextDeadline == nil)
    server.pass(.seconds(100_000))
    try server.respond()
    #expect(server.session.ending == nil)
    // The timeout for the next request starts then.
    server.pass(.seconds(74))
    #expect(server.session.ending == nil)
  }

  @Test("a waiting client that has ended its direction is probed with 100 Continue until its response begins")
  func probed() throws {
    let server = ServerEnd()
    server.receive(Self.get)
    server.receiveEnd()
    #expect(server.take() == ["head /1", "end"] && server.sent() == "")
    server.pass(.milliseconds(999))
    #expect(server.sent() == "")
    server.pass(.milliseconds(1))
    #expect(server.sent() == "HTTP/1.1 100 Continue\r\n\r\n")
    server.pass(.seconds(9))
    #expect(server.sent() == "")
    server.pass(.seconds(11))
    #expect(server.sent() == "HTTP/1.1 100 Continue\r\n\r\n", "no further probe is added to an unsent one")
    try server.respond(200, "late")
    #expect(server.session.nextDeadline.map { $0 > server.now + .minutes(1) } ?? true)
    #expect(server.sent().hasPrefix("HTTP/1.1 200 OK\r\n"))
  }

  @Test(
    "no probe is sent to an HTTP/1.0 client, or within a request",
    arguments: ["GET / HTTP/1.0\r\n\r\n", "POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nhalf"])
  func notProbed(request: String) throws {
    let server = ServerEnd()
    server.receive(request)
    if request.hasPrefix("GET") { server.receiveEnd() }
    server.pass(.minutes(2))
    #expect(server.sent() == "")
  }

  @Test("a response before the end of a request's content ends the connection, and otherwise it stays open")
  func early() throws {
    let content = ServerEnd()
    content.receive("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nhalf")
    try content.respond(413, "no")
    #expect(content.take() == ["head /", "content half", "closed"])
    #expect(content.sent().contains("Connection: close"))
    #expect(content.session.ending == .endOutput)
    content.receive("the rest" + Self.get)
    #expect(content.take() == [])

    let none = ServerEnd()
    none.receive("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n")
    try none.respond()
    #expect(none.session.ending == nil)
  }

  @Test("an invalid request is refused once, and nothing more is parsed")
  func refused() throws {
    let server = ServerEnd()
    server.receive("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + Self.get)
    #expect(server.take() == ["refused 400"])
    try server.respond(400, "no")
    #expect(server.take() == ["closed"])
    server.receive(Self.get)
    #expect(server.take() == [])
    #expect(server.session.ending == .endOutput)
  }

  @Test("a request that breaks within its response is aborted as its framing requires")
  func broken() throws {
    let server = ServerEnd()
    server.receive("POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
    try server.session.respond([":status": "200"], isComplete: false, at: server.now)
    server.receive("nonsense\r\n")
    #expect(server.take() == ["head /", "content x", "refused 400"])
    server.session.cutShort()
    #expect(server.session.ending == .abort(byReset: false))
    // For HTTP/1.0 a regular close would complete the message.
    let old = ServerEnd()
    old.receive("GET / HTTP/1.0\r\n\r\n")
    try old.session.respond([":status": "200"], isComplete: false, at: old.now)
    old.session.cutShort()
    #expect(old.session.ending == .abort(byReset: true))
  }

  @Test("the server ends its direction first, then waits for the client's end for a limited time")
  func closing() throws {
    let server = ServerEnd()
    server.receive("GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
    try server.respond(200, "bye")
    #expect(server.session.ending == .endOutput && server.session.wantsTransmit)
    _ = server.sent()
    server.session.outputEnded(at: server.now)
    server.pass(.seconds(1))
    #expect(server.session.ending == .endOutput)
    server.pass(.seconds(1))
    #expect(server.session.ending == .abort(byReset: false))

    let leaving = ServerEnd()
    leaving.receive("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    leaving.receiveEnd()
    #expect(leaving.session.ending == nil)
    try leaving.respond(200, "bye")
    #expect(leaving.sent().hasSuffix("bye\r\n0\r\n\r\n"))
    #expect(leaving.session.ending == .close(within: .seconds(300)))
  }

  @Test("a client that reads no responses gets no further requests served, and is abandoned after a while")
  func unread() throws {
    let server = ServerEnd()
    server.receive(Self.get + Self.get)
    try server.respond(200, String(repeating: "x", count: 20_000))
    #expect(server.take() == ["head /1", "end", "closed"])
    #expect(!server.session.admitRead())
    server.pass(.seconds(299))
    #expect(server.session.ending == nil)
    // The head and half of the content.
    for _ in 0..<2 { _ = server.session.nextTransmit(maximum: 10_000, at: server.now) }
    server.drain()
    #expect(server.take().last == "end", "the next request is served once the client reads")
    try server.respond(200, String(repeating: "x", count: 20_000))
    server.pass(.seconds(300))
    #expect(server.session.ending == .abort(byReset: false))
  }

  @Test("a body for a response to HEAD is dropped, and counts as sent")
  func head() throws {
    let server = ServerEnd()
    server.receive("HEAD / HTTP/1.1\r\nHost: here\r\n\r\n")
    try server.respond(200, "body")
    #expect(!server.sent().contains("body"))
    #expect(server.session.ending == nil && server.session.idleSince != nil)
  }

  @Test("a tunnel carries bytes in both directions once it is granted")
  func tunnel() throws {
    let server = ServerEnd()
    server.receive("CONNECT here:1 HTTP/1.1\r\nHost: here:1\r\n\r\nearly")
    #expect(server.take() == ["head -"])
    try server.session.respond([":status": "200"], isComplete: false, at: server.now)
    server.drain()
    #expect(server.take() == ["content early"])
    try server.session.write(ByteBuffer(string: "back"))
    #expect(server.sent().hasSuffix("\r\n\r\nback"))
    server.receiveEnd()
    #expect(server.take() == ["drained 4", "end"])
    try server.session.finish(trailers: nil, at: server.now)
    #expect(server.session.ending == .close(within: .seconds(300)))
  }

  @Test("a draining session serves running requests and no others")
  func draining() throws {
    let idle = ServerEnd()
    idle.receive(Self.get)
    _ = idle.take()
    try idle.respond()
    idle.session.drain(at: idle.now)
    #expect(idle.session.ending == .endOutput)
    let busy = ServerEnd()
    busy.receive(Self.get + Self.get)
    busy.session.drain(at: busy.now)
    #expect(busy.session.ending == nil)
    try busy.respond()
    #expect(busy.sent().contains("Connection: close"))
    #expect(busy.take() == ["head /1", "end", "closed"])
    #expect(busy.session.ending == .endOutput)
  }

  @Test(
    "a session that drains before its first request still serves one that may be on its way",
    arguments: ["", "GET /1 HT"])
  func lastCall(_ beginning: String) throws {
    let used = ServerEnd()
    used.receive(beginning)
    used.session.drain(at: used.now)
    used.pass(.milliseconds(900))
    #expect(used.session.ending == nil)
    used.receive(String(Self.get.dropFirst(beginning.count)))
    #expect(used.take() == ["head /1", "end"])
    used.pass(.seconds(20))
    try used.respond()
    #expect(used.sent().contains("Connection: close"))
    #expect(used.session.ending == .endOutput)
    let unused = ServerEnd()
    unused.session.drain(at: unused.now)
    unused.pass(.seconds(1))
    #expect(unused.session.ending == .endOutput)
  }

  @Test("if content is not consumed, the server session stops reading from the client")
  func pacing() throws {
    let server = ServerEnd()
    server.receive("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9999999\r\n\r\n")
    var count = 0
    while server.session.admitRead() {
      server.receive(String(repeating: "x", count: 10_000))
      count += 10_000
    }
    #expect((256 * 1024..<256 * 1024 + 10_000).contains(count))
    server.session.consume(count / 4)
    #expect(!server.session.releaseRead(at: server.now))
    server.session.consume(count / 2)
    #expect(server.session.releaseRead(at: server.now))
  }

  @Test("unread content of an exchange does not delay the next request")
  func unreadContent() throws {
    let server = ServerEnd()
    server.receive("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 300000\r\n\r\n")
    server.receive(String(repeating: "x", count: 299_999))
    #expect(!server.session.admitRead())
    server.receive("x")
    try server.respond()
    _ = server.sent()
    #expect(server.session.releaseRead(at: server.now) && server.session.admitRead())
    _ = server.take()
    server.receive("GET /next HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(server.take() == ["head /next", "end"])
  }

  @Test("the time limit of a head also applies if it arrives byte by byte")
  func headInPieces() {
    let server = ServerEnd()
    let begin = server.now
    for byte in "GET / HTTP/1.1\r\nHost:" {
      server.receive(String(byte))
      server.pass(.seconds(1))
    }
    #expect(server.session.nextDeadline == begin + .seconds(30))
  }
}
