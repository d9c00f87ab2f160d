import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import Testing

@Suite struct TimeoutTests {
  /// Advances time on a session whose peer does not answer, and returns its events.
  private func events(of session: HTTP2Session, until deadline: NIODeadline) -> [HTTP2Event] {
    var events: [HTTP2Event] = []
    while let next = session.nextDeadline, next <= deadline {
      session.handleTimeout(at: next)
      while let event = session.nextEvent() { events.append(event) }
    }
    return events
  }

  private func seconds(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

  @Test("a peer that never acknowledges SETTINGS is abandoned", arguments: [HTTP2Session.Role.client, .server])
  func settings(_ role: HTTP2Session.Role) {
    let session = HTTP2Session(role: role, at: seconds(0))
    #expect(session.nextDeadline == seconds(30))
    #expect(events(of: session, until: seconds(30)).failure?.code == .settingsTimeout)
    #expect(session.nextDeadline == nil)
  }

  @Test("a peer that falls silent after a few bytes is quoted") func quotesSilent() {
    let session = HTTP2Session(role: .server, at: seconds(0))
    session.receive(ByteBuffer(string: "PRI"), at: seconds(1))
    #expect(events(of: session, until: seconds(99)).failure?.message.contains("\"PRI\"") == true)
  }

  @Test(
    "a peer whose header block does not end is abandoned",
    arguments: [
      Array(RawFrame.headers(1, HPACK.get).bytes.dropLast()), RawFrame.headers(1, HPACK.get, flags: 0).bytes, [0, 0],
    ])
  func headerBlock(_ bytes: [UInt8]) {
    let client = RawClient()
    client.send(bytes: bytes)
    #expect(client.server.nextDeadline == seconds(30))
    #expect(events(of: client.server, until: seconds(30)).failure?.kind == .unresponsive)
  }

  @Test("a header block that ends in time stops the timer") func headerBlockEnds() {
    let client = RawClient()
    client.send(.headers(1, HPACK.get, flags: RawFrame.endStream))
    client.now = seconds(20)
    // The next header block has the full time again, even if it begins in the same piece.
    client.send(bytes: RawFrame.continuation(1, []).bytes + [0])
    #expect(client.server.nextDeadline == seconds(50))
    client.send(bytes: Array(RawFrame.ping().bytes.dropFirst()))
    #expect(client.server.nextDeadline == nil)
  }

  @Test("the time limit of a header block also applies if it arrives byte by byte")
  func headerBlockInPieces() {
    let client = RawClient()
    let block = RawFrame.headers(1, HPACK.get).bytes.dropLast()
    for (index, byte) in block.enumerated() {
      client.now = seconds(Int64(index))
      client.send(bytes: [byte])
    }
    #expect(client.server.nextDeadline == seconds(30))
  }

  @Test("the time limit of a header block also applies if it arrives in many frames")
  func headerBlockInFrames() {
    let client = RawClient()
    client.send(.headers(1, HPACK.get, flags: 0))
    for second in [10, 20, 29] {
      client.now = seconds(Int64(second))
      client.send(.continuation(1, [], flags: 0))
    }
    #expect(client.server.nextDeadline == seconds(30))
    #expect(events(of: client.server, until: seconds(30)).failure?.kind == .unresponsive)
  }

  @Test("a body has no time limit") func slowBody() {
    let client = RawClient()
    client.send(.post(1))
    client.send(bytes: Array(RawFrame.data(1, [1, 2, 3]).bytes.dropLast()))
    #expect(client.server.nextDeadline == nil)
  }

  @Test("GOAWAY is sent after an idle time, and not while a stream is open") func idle() throws {
    var configuration = HTTP2Configuration.defaults
    configuration.timeouts.idle = .seconds(60)
    let pair = Pair(server: configuration)
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    #expect(pair.server.nextDeadline == nil)
    pair.now = seconds(100)
    pair.server.submitResponse(id, [":status": "200"], endStream: true)
    pair.exchange()
    #expect(pair.server.nextDeadline == seconds(160))
    pair.now = seconds(160)
    pair.server.handleTimeout(at: pair.now)
    pair.exchange()
    #expect(pair.toClient.contains(.goAway(last: id, .noError, debug: "")))
    #expect(pair.server.isFinished && pair.client.isFinished)
    #expect(pair.toServer.failure == nil)
  }

  @Test("the round trip is measured from the moment the PING is sent") func roundTrip() {
    let pair = Pair()
    pair.exchange()
    pair.client.ping()
    pair.advance(.seconds(3))
    pair.carry(from: pair.client, to: pair.server, 1000)
    pair.advance(.milliseconds(40))
    pair.carry(from: pair.server, to: pair.client, 1000)
    #expect(pair.toClient.contains(.pong(roundTrip: .milliseconds(40))))
  }
}
