import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import Testing

@Suite struct LifecycleTests {
  private static func pair(concurrent: Int) -> Pair {
    var configuration = HTTP2Configuration.defaults
    configuration.streams.maximumConcurrent = concurrent
    let pair = Pair(server: configuration)
    pair.exchange()
    return pair
  }

  @Test(
    "a client that does not speak HTTP/2 is quoted",
    arguments: [
      ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", #"it began with "GET / HTTP/1.1\r\nHost: a\r\n\r\n""#),
      ("SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n", #"it began with "SSH-2.0-OpenSSH_9.2p1 Debian-2+d…"."#),
      ("\u{1}\u{2}\"\\\u{7F}", #"it began with "\x01\x02\"\\\x7f"."#),
      ("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", #"it began with "PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"."#),
    ])
  func notHTTP2(_ bytes: String, _ quote: String) throws {
    let client = RawClient(handshake: false)
    client.send(bytes: Array(bytes.utf8))
    let failure = try #require(client.events.failure)
    #expect(failure.isOfUnexpectedPeer)
    #expect(failure.message.contains(quote), "\(failure.message)")
    #expect(client.server.isFinished)
  }

  @Test(
    "a server that does not speak HTTP/2 is recognized",
    arguments: [
      "HTTP/1.1 400 Bad Request\r\n", "SSH-2.0-dropbear\r\n", "login: ", "\0\0\0\u{1}\0\0\0\0\0",
    ])
  func notAServer(_ bytes: String) throws {
    let client = HTTP2Session(role: .client, at: .uptimeNanoseconds(0))
    let id = try client.submitRequest(.get(), endStream: true)
    client.receive(ByteBuffer(string: bytes), at: .uptimeNanoseconds(1))
    var events: [HTTP2Event] = []
    while let event = client.nextEvent() { events.append(event) }
    #expect(events.failure?.isOfUnexpectedPeer == true)
    // The request was never sent.
    #expect(events.first == .closed(id, .protocolError, isUnprocessed: true))
  }

  @Test("if the link ends early, the few bytes that arrived are quoted", arguments: ["PRI * HT", "P"])
  func unfinishedPreface(_ bytes: String) throws {
    let client = RawClient(handshake: false)
    client.send(bytes: Array(bytes.utf8))
    #expect(client.events.failure == nil)
    client.server.receiveEnd(at: .uptimeNanoseconds(1))
    var failure: HTTP2Failure?
    while let event = client.server.nextEvent() { if case .failed(let told) = event { failure = told } }
    #expect(failure?.isOfUnexpectedPeer == true)
    #expect(failure?.message.contains(#"sent "\#(bytes)" and ended the link"#) == true, "\(failure?.message ?? "")")
  }

  @Test("the preface is checked byte by byte") func prefaceInPieces() {
    let client = RawClient(handshake: false)
    for byte in RawClient.magic + RawFrame.settings().bytes { client.send(bytes: [byte]) }
    #expect(client.isAlive)
  }

  @Test("a refused request may be repeated, and a running one may not") func unprocessed() throws {
    let pair = Pair()
    let first = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    pair.server.reset(first, .refusedStream)
    let second = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    pair.server.reset(second, .internalError)
    pair.exchange()
    #expect(pair.toClient.contains(.closed(first, .refusedStream, isUnprocessed: true)))
    #expect(pair.toClient.contains(.closed(second, .internalError, isUnprocessed: false)))
  }

  @Test("GOAWAY reports which requests were not processed, and open ones finish") func goAway() throws {
    let pair = Pair()
    let first = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    pair.server.goAway()
    // Sent before the client receives the GOAWAY.
    let second = try pair.client.submitRequest(.get(), endStream: true)
    pair.carry(from: pair.client, to: pair.server, 1 << 20)
    pair.exchange()
    #expect(pair.toServer.heads == [first])
    #expect(pair.toClient.contains(.goAway(last: first, .noError, debug: "")))
    #expect(pair.toClient.contains(.closed(second, .refusedStream, isUnprocessed: true)))
    #expect(throws: HTTP2Failure.self) { try pair.client.submitRequest(.get(), endStream: true) }
    #expect(!pair.server.isFinished)

    pair.server.submitResponse(first, [":status": "200"], endStream: true)
    pair.exchange()
    #expect(pair.toClient.closed(first) == .noError)
    #expect(pair.server.isFinished && pair.client.isFinished)
    #expect(pair.toClient.failure == nil && pair.toServer.failure == nil)
  }

  @Test("the reason in a GOAWAY is cut to 256 bytes, and has no control characters") func goAwayReason() {
    let pair = Pair()
    pair.exchange()
    pair.server.goAway(.noError, because: "a\u{1B}b" + String(repeating: "x", count: 300))
    pair.exchange()
    #expect(pair.toClient.contains(.goAway(last: 0, .noError, debug: "a?b" + String(repeating: "x", count: 253))))
  }

  @Test("a violation after a sent GOAWAY is reported, even with the same code") func violationAfterGoAway() {
    let client = RawClient()
    client.answers = false
    client.send(.get(1))
    client.server.goAway(.protocolError)
    client.turn()
    #expect(client.events.failure == nil && !client.server.isFinished)
    client.send(.windowUpdate(0, 0))
    #expect(client.events.failure?.code == .protocolError)
    #expect(client.events.closed(1) == .protocolError)
    #expect(client.server.isFinished)
  }

  @Test("a shutdown notice still accepts requests that are on their way") func shutdownNotice() throws {
    let pair = Pair()
    pair.exchange()
    pair.server.shutdownNotice()
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    #expect(pair.toServer.heads == [id])
    #expect(throws: HTTP2Failure.self) { try pair.client.submitRequest(.get(), endStream: true) }
  }

  @Test("GOAWAY ends the requests that wait for a stream") func goAwayWaiting() throws {
    let pair = Self.pair(concurrent: 1)
    let ids = try (0..<3).map { _ in try pair.client.submitRequest(.get(), endStream: true) }
    pair.exchange()
    #expect(pair.toServer.heads == [ids[0]])
    pair.server.goAway()
    pair.exchange()
    for id in ids[1...] { #expect(pair.toClient.contains(.closed(id, .refusedStream, isUnprocessed: true))) }
    #expect(pair.client.openStreams == 1)
  }

  @Test("requests beyond the peer's limit wait, and are sent as others end") func waits() throws {
    let pair = Self.pair(concurrent: 2)
    let ids = try (0..<5).map { _ in try pair.client.submitRequest(.get(), endStream: true) }
    var answered = 0
    while answered < 5 {
      pair.exchange()
      let open = pair.takeServerEvents().heads
      #expect((1...2).contains(open.count))
      for id in open { pair.server.submitResponse(id, [":status": "204"], endStream: true) }
      answered += open.count
    }
    pair.exchange()
    #expect(ids.allSatisfy { pair.toClient.closed($0) == .noError })
  }

  @Test("a session that fails closes every stream, then itself") func failed() throws {
    let pair = Pair()
    let sent = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    let unsent = try pair.client.submitRequest(.get(), endStream: true)
    pair.toClient = []
    pair.client.receive(ByteBuffer(bytes: RawFrame.pushPromise(1, 2).bytes), at: pair.now)
    pair.collect()
    #expect(pair.toClient.contains(.closed(sent, .protocolError, isUnprocessed: false)))
    #expect(pair.toClient.contains(.closed(unsent, .protocolError, isUnprocessed: true)))
    #expect(pair.toClient.failure?.kind == .violation)
    var goAway = ByteBuffer()
    pair.client.nextTransmit(maximum: 1 << 20, into: &goAway, at: pair.now)
    #expect(pair.client.isFinished && !pair.client.wantsTransmit)
  }

  @Test("SETTINGS report the peer's limits") func settings() throws {
    let pair = Pair()
    pair.exchange()
    #expect(pair.toClient.contains(.settingsReceived(maximumConcurrentStreams: 256, allowsExtendedConnect: true)))
    #expect(pair.toServer.contains(.settingsReceived(maximumConcurrentStreams: nil, allowsExtendedConnect: false)))
  }

  @Test("extended CONNECT carries bytes in both directions") func extendedConnect() throws {
    let pair = Pair()
    pair.exchange()
    let id = try pair.client.submitRequest(
      .request("CONNECT", "/chat", [(":protocol", "websocket")]), endStream: false)
    pair.exchange()
    pair.server.submitResponse(id, [":status": "200"], endStream: false)
    pair.server.write(id, ByteBuffer(string: "down"))
    pair.client.write(id, ByteBuffer(string: "up"))
    pair.exchange()
    #expect(pair.toServer.body(of: id).bytes == ByteBuffer(string: "up"))
    #expect(pair.toClient.body(of: id).bytes == ByteBuffer(string: "down"))
    pair.client.finish(id)
    pair.exchange()
    #expect(pair.toServer.body(of: id).isComplete)
    #expect(pair.server.openStreams == 1)
  }

  @Test("a response without a body may declare a length", arguments: [("HEAD", "200"), ("GET", "304")])
  func bodyless(_ method: String, _ status: String) throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.request(method, "/"), endStream: true)
    pair.exchange()
    pair.server.submitResponse(id, [":status": status, "content-length": "500"], endStream: true)
    pair.exchange()
    #expect(pair.toClient.heads == [id])
    #expect(pair.toClient.closed(id) == .noError)
  }

  @Test("a response shorter than its content length is a stream error") func shortResponse() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    pair.server.submitResponse(id, [":status": "200", "content-length": "5"], endStream: false)
    pair.server.write(id, ByteBuffer(string: "four"))
    pair.server.finish(id)
    pair.exchange()
    #expect(!pair.toClient.body(of: id).isComplete)
    #expect(pair.toClient.closed(id) == .protocolError)
  }

  @Test("a response with an invalid status code is a stream error, and is not reported", arguments: ["099", "000"])
  func noStatus(_ status: String) throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    _ = pair.takeClientEvents()
    pair.server.submitResponse(id, [":status": status], endStream: false)
    pair.server.write(id, ByteBuffer(string: "body"))
    pair.server.finish(id)
    pair.exchange()
    #expect(pair.toClient == [.closed(id, .protocolError, isUnprocessed: false)])
  }

  @Test("sessions with open streams are released without a leak") func noLeak() throws {
    weak var client: HTTP2Session?
    weak var server: HTTP2Session?
    try {
      let pair = Pair()
      client = pair.client
      server = pair.server
      for _ in 0..<10 {
        let id = try pair.client.submitRequest(.post(), endStream: false)
        pair.client.write(id, ByteBuffer(repeating: 0, count: 500_000))
      }
      pair.exchange()
    }()
    #expect(client == nil && server == nil)
  }
}

extension HTTP2Failure {
  fileprivate var isOfUnexpectedPeer: Bool {
    if case .notHTTP2(let heard) = kind { !heard.isEmpty } else { false }
  }
}
