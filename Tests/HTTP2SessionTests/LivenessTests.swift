import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import Testing

/// Checks that the peer is alive while a stream is open.
@Suite struct LivenessTests {
  private func seconds(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(0) + .seconds(seconds) }

  private static func watchful(quiet: TimeAmount? = nil) -> HTTP2Configuration {
    var configuration = HTTP2Configuration.defaults
    configuration.timeouts.pingInterval = .seconds(10)
    configuration.timeouts.quietPingInterval = quiet
    configuration.timeouts.pingAnswer = .seconds(5)
    return configuration
  }

  private enum End: CaseIterable {
    case client, server
  }

  /// Returns a pair with exchanged SETTINGS and an open request, in which one end watches the other.
  private func pair(
    watchedBy end: End = .client, quiet: TimeAmount? = nil
  ) throws -> (pair: Pair, watcher: HTTP2Session, id: StreamID) {
    let watchful = Self.watchful(quiet: quiet)
    let pair = end == .client ? Pair(client: watchful) : Pair(server: watchful)
    pair.exchange()
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    return (pair, end == .client ? pair.client : pair.server, id)
  }

  private func sent(by session: HTTP2Session, _ pair: Pair) -> [RawFrame] {
    var wire = ByteBuffer()
    session.nextTransmit(maximum: 1 << 20, into: &wire, at: pair.now)
    return RawFrame.parse(wire)
  }

  @Test("a peer that answers no PING is abandoned, and its streams end first", arguments: End.allCases)
  private func dead(_ end: End) throws {
    let (pair, watcher, id) = try pair(watchedBy: end)
    #expect(watcher.nextDeadline == seconds(10))
    pair.now = seconds(10)
    watcher.handleTimeout(at: pair.now)
    #expect(sent(by: watcher, pair).map(\.type) == [6])
    #expect(watcher.nextDeadline == seconds(15))
    watcher.handleTimeout(at: seconds(15))
    pair.collect()
    let events = end == .client ? pair.toClient : pair.toServer
    #expect(events.closed(id) != nil)
    #expect(events.failure?.kind == .unresponsive)
    #expect(events.failure?.message.contains("for 15 s") == true)
    #expect(watcher.nextDeadline == nil)
  }

  @Test("any received byte proves the peer alive", arguments: End.allCases)
  private func alive(_ end: End) throws {
    let (pair, watcher, _) = try pair(watchedBy: end)
    for round in 1...5 {
      pair.now = seconds(Int64(round) * 10)
      watcher.handleTimeout(at: pair.now)
      pair.exchange()
      #expect(watcher.nextDeadline == pair.now + .seconds(10))
    }
    #expect(pair.toServer.failure == nil && pair.toClient.failure == nil)
  }

  @Test("while the peer is sending, no PING is sent") func talking() throws {
    let (pair, watcher, _) = try pair(watchedBy: .server)
    pair.now = seconds(6)
    pair.client.ping()
    pair.exchange()
    watcher.handleTimeout(at: seconds(10))
    #expect(!watcher.wantsTransmit)
    #expect(watcher.nextDeadline == seconds(16))
  }

  @Test("an idle link is not probed, and is probed again with the first request after that") func idle() throws {
    let (pair, client, id) = try pair()
    pair.server.submitResponse(id, [":status": "200"], endStream: true)
    pair.exchange()
    pair.now = seconds(10)
    client.handleTimeout(at: pair.now)
    #expect(!client.wantsTransmit)
    #expect(client.nextDeadline == nil)

    pair.now = seconds(100)
    _ = try client.submitRequest(.get(), endStream: true)
    #expect(client.nextDeadline.map { $0 <= pair.now } == true)
    client.handleTimeout(at: pair.now)
    #expect(sent(by: client, pair).map(\.type) == [6, 1])
    #expect(client.nextDeadline == seconds(105))
  }

  @Test("if configured, an idle link is probed, and a peer that does not answer is abandoned") func keptOpen()
    throws
  {
    var watchful = Self.watchful()
    watchful.timeouts.idlePingInterval = .seconds(60)
    let pair = Pair(server: watchful)
    pair.exchange()
    for minute in 1...3 as ClosedRange<Int64> {
      #expect(pair.server.nextDeadline == seconds(60 * minute))
      pair.now = seconds(60 * minute)
      pair.server.handleTimeout(at: pair.now)
      pair.exchange()
    }
    // A new request is a reason to probe earlier.
    pair.now = seconds(200)
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    #expect(pair.server.nextDeadline == seconds(210))
    pair.server.submitResponse(id, [":status": "200"], endStream: true)
    pair.exchange()
    pair.server.handleTimeout(at: seconds(210))
    #expect(!pair.server.wantsTransmit && pair.server.nextDeadline == seconds(260))
    pair.server.handleTimeout(at: seconds(260))
    #expect(sent(by: pair.server, pair).map(\.type) == [6])
    pair.server.handleTimeout(at: seconds(265))
    pair.collect()
    #expect(pair.toServer.failure?.kind == .unresponsive)
  }

  @Test("a new link has the whole SETTINGS timeout to become ready") func slowStart() throws {
    let client = HTTP2Session(role: .client, configuration: Self.watchful(), at: seconds(0))
    _ = try client.submitRequest(.get(), endStream: true)
    var wire = ByteBuffer()
    client.nextTransmit(maximum: 1 << 20, into: &wire, at: seconds(0))
    for second in [10, 20] as [Int64] {
      #expect(client.nextDeadline == seconds(second))
      client.handleTimeout(at: seconds(second))
      #expect(!client.wantsTransmit)
    }
    client.handleTimeout(at: seconds(30))
    #expect(client.failure?.code == .settingsTimeout)
  }

  @Test("a peer that has answered a PING counts as ready without acknowledging SETTINGS") func answeredPing() throws {
    let client = HTTP2Session(role: .client, configuration: Self.watchful(), at: seconds(0))
    client.ping()
    var wire = ByteBuffer()
    client.nextTransmit(maximum: 1 << 20, into: &wire, at: seconds(0))
    wire.moveReaderIndex(forwardBy: 24)
    let ping = try #require(RawFrame.parse(wire).first { $0.type == 6 })
    let answers = RawFrame.settings().bytes + RawFrame(type: 6, flags: RawFrame.ack, payload: ping.payload).bytes
    client.receive(ByteBuffer(bytes: answers), at: seconds(1))
    _ = try client.submitRequest(.get(), endStream: true)
    for second in [11, 16] as [Int64] { client.handleTimeout(at: seconds(second)) }
    #expect(client.failure?.kind == .unresponsive && client.failure?.code == .noError)
  }

  @Test(
    "a peer that has sent nothing at all is distinguished from one that stopped answering", arguments: [true, false])
  func saidNothing(_ greets: Bool) {
    let client = HTTP2Session(role: .client, at: seconds(0))
    if greets { client.receive(ByteBuffer(bytes: RawFrame.settings().bytes), at: seconds(1)) }
    client.handleTimeout(at: seconds(30))
    #expect(client.failure?.kind == (greets ? .unresponsive : .silent) && client.failure?.code == .settingsTimeout)
  }

  @Test("a peer that sends only PING answers is probed less often, until it sends something") func quiet() throws {
    let (pair, client, id) = try pair(quiet: .seconds(300))
    for second in [10, 310, 610] as [Int64] {
      #expect(client.nextDeadline == seconds(second))
      pair.now = seconds(second)
      client.handleTimeout(at: pair.now)
      pair.exchange()
    }
    pair.server.submitResponse(id, [":status": "200"], endStream: false)
    pair.exchange()
    #expect(client.nextDeadline == seconds(620))
    pair.now = seconds(620)
    client.handleTimeout(at: pair.now)
    pair.exchange()
    #expect(client.nextDeadline == seconds(920))
    pair.server.write(id, ByteBuffer(string: "news"))
    pair.now = seconds(650)
    pair.exchange()
    #expect(client.nextDeadline == seconds(660))
  }

  @Test("the PING timeout includes the time for bytes in the buffers of a slow link") func slowLink() throws {
    let (pair, server, id) = try pair(watchedBy: .server)
    server.submitResponse(id, [":status": "200"], endStream: false)
    server.write(id, ByteBuffer(repeating: 0, count: 60_000))
    _ = sent(by: server, pair)
    pair.now = seconds(10)
    server.handleTimeout(at: pair.now)
    let patience = try #require(server.nextDeadline) - pair.now
    #expect(patience > .milliseconds(6500) && patience < .seconds(8))
  }
}
