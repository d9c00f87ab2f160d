import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import Testing

@Suite struct FlowControlTests {
  private static let mebibyte = ByteBuffer(repeating: 1, count: 1 << 20)

  private func received(_ events: [HTTP2Event], _ id: StreamID) -> Int {
    events.body(of: id).bytes.readableBytes
  }

  @Test("if the reader of a stream stops, the sender stops, and continues when the reader does") func backPressure()
    throws
  {
    let pair = Pair()
    let id = try pair.client.submitRequest(.post(), endStream: false)
    pair.client.write(id, Self.mebibyte)
    pair.exchange()
    #expect(received(pair.toServer, id) == 256 * 1024)
    pair.server.consume(id, bytes: 256 * 1024)
    pair.exchange()
    #expect(received(pair.toServer, id) >= 512 * 1024)
  }

  @Test("a reader that reports too many bytes gets no additional window later") func overstated() throws {
    var configuration = HTTP2Configuration.defaults
    configuration.windows.growth = 0
    let pair = Pair(server: configuration)
    let id = try pair.client.submitRequest(.post(), endStream: false)
    pair.client.write(id, ByteBuffer(repeating: 1, count: 10_000))
    pair.exchange()
    pair.server.consume(id, bytes: 1 << 20)
    pair.client.write(id, Self.mebibyte)
    pair.exchange()
    pair.server.consume(id, bytes: 1)
    pair.exchange()
    #expect((256 * 1024...256 * 1024 + 10_000).contains(received(pair.toServer, id)))
  }

  @Test("a stalled reader does not stall other streams") func independent() throws {
    var configuration = HTTP2Configuration.defaults
    // All stalled streams together hold more than the connection's window.
    configuration.windows.maximum = 512 * 1024
    let pair = Pair(server: configuration)
    let stalled = try (0..<8).map { _ in try pair.client.submitRequest(.post(), endStream: false) }
    for id in stalled { pair.client.write(id, Self.mebibyte) }
    pair.exchange()
    let live = try pair.client.submitRequest(.post(), endStream: false)
    pair.client.write(live, ByteBuffer(repeating: 1, count: 200_000))
    pair.client.finish(live)
    pair.exchange()
    #expect(received(pair.toServer, live) == 200_000)
    #expect(stalled.allSatisfy { received(pair.toServer, $0) == 256 * 1024 })
  }

  /// Streams for a number of round trips of the given length to a reader that consumes everything immediately.
  private func stream(_ pair: Pair, _ id: StreamID, roundTrip: TimeAmount, rounds: Int) -> [Int] {
    let half = TimeAmount.nanoseconds(roundTrip.nanoseconds / 2)
    return (0..<rounds).map { _ in
      pair.carry(from: pair.client, to: pair.server, 64 << 20)
      let events = pair.takeServerEvents()
      for case .data(id, let bytes, _) in events { pair.server.consume(id, bytes: bytes.readableBytes) }
      pair.advance(half)
      pair.carry(from: pair.server, to: pair.client, 64 << 20)
      pair.advance(half)
      return received(events, id)
    }
  }

  @Test("the window of a stream with a fast reader grows up to the limit") func grows() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.post(), endStream: false)
    for _ in 0..<64 { pair.client.write(id, Self.mebibyte) }
    let perRound = stream(pair, id, roundTrip: .milliseconds(100), rounds: 20)
    #expect(perRound.prefix(3).allSatisfy { $0 <= 256 * 1024 })
    #expect(perRound.max() ?? 0 >= 3 << 20)
    #expect(perRound.allSatisfy { $0 <= 4 << 20 })
  }

  @Test("the window of a stream with a slow reader does not grow") func lagging() throws {
    let pair = Pair()
    let fast = try pair.client.submitRequest(.post(), endStream: false)
    let slow = try pair.client.submitRequest(.post(), endStream: false)
    for id in [fast, slow] { for _ in 0..<32 { pair.client.write(id, Self.mebibyte) } }
    var unread = 0
    for _ in 0..<20 {
      pair.carry(from: pair.client, to: pair.server, 64 << 20)
      for case .data(let id, let bytes, _) in pair.takeServerEvents() {
        if id == fast { pair.server.consume(id, bytes: bytes.readableBytes) } else { unread += bytes.readableBytes }
      }
      // The reader's rate per round trip is constant.
      pair.server.consume(slow, bytes: min(unread, 50_000))
      unread -= min(unread, 50_000)
      #expect(unread <= 256 * 1024)
      pair.advance(.milliseconds(50))
      pair.carry(from: pair.server, to: pair.client, 64 << 20)
      pair.advance(.milliseconds(50))
    }
  }

  @Test("the windows of all streams grow up to the session's share") func growthIsBounded() throws {
    var configuration = HTTP2Configuration.defaults
    configuration.windows.growth = 0
    let pair = Pair(server: configuration)
    let id = try pair.client.submitRequest(.post(), endStream: false)
    for _ in 0..<64 { pair.client.write(id, Self.mebibyte) }
    #expect(stream(pair, id, roundTrip: .milliseconds(100), rounds: 20).allSatisfy { $0 <= 256 * 1024 })
  }

  @Test("the window growth of an ended stream is available to the next one") func growthIsReturned() throws {
    var configuration = HTTP2Configuration.defaults
    configuration.windows.growth = configuration.windows.maximum
    let pair = Pair(server: configuration)
    for _ in 0..<3 {
      let id = try pair.client.submitRequest(.post(), endStream: false)
      for _ in 0..<32 { pair.client.write(id, Self.mebibyte) }
      pair.client.finish(id)
      #expect(stream(pair, id, roundTrip: .milliseconds(100), rounds: 24).max() ?? 0 >= 3 << 20)
      pair.server.submitResponse(id, [":status": "204"], endStream: true)
      pair.exchange()
      #expect(pair.server.openStreams == 0)
    }
  }

  @Test("bodies of refused requests do not shrink the connection's window") func refusedIsReturned() throws {
    var configuration = HTTP2Configuration.defaults
    configuration.windows.maximum = 256 * 1024
    configuration.streams.maximumHeaderListSize = 2048
    let pair = Pair(server: configuration)
    for _ in 0..<20 {
      let head = FieldSection.post("/", ("x-large", String(repeating: "a", count: 3000)))
      let refused = try pair.client.submitRequest(head, endStream: false)
      pair.client.write(refused, ByteBuffer(repeating: 1, count: 50_000))
      pair.exchange()
      #expect(pair.toServer.heads.isEmpty)
    }
    let id = try pair.client.submitRequest(.post(), endStream: false)
    pair.client.write(id, ByteBuffer(repeating: 1, count: 200_000))
    pair.exchange()
    #expect(received(pair.toServer, id) == 200_000)
  }

  @Test("a client that reads nothing is sent a few MiB, with any number of streams") func unread()
    throws
  {
    var configuration = HTTP2Configuration.defaults
    configuration.windows.initial = ReadAhead.share
    let pair = Pair(client: configuration)
    let readAhead = ReadAhead(limit: 4 << 20)
    let ids = try (0..<256).map { _ in
      try pair.client.submitRequest(.get(), endStream: true, readAhead: readAhead)
    }
    pair.exchange()
    for id in ids {
      pair.server.submitResponse(id, [":status": "200"], endStream: false)
      pair.server.write(id, Self.mebibyte)
    }
    pair.exchange()
    let sizes = ids.map { received(pair.toClient, $0) }
    #expect(sizes.allSatisfy { $0 >= ReadAhead.share })
    #expect(sizes.reduce(0, +) <= (1 << 20) + 256 * ReadAhead.share)
    // The first streams get the usual share, and a stream that is read gets as much as it needs.
    #expect(sizes[0] > 128 * 1024)
    var last = 0
    for _ in 0..<200 {
      let id = ids[255]
      let count = received(pair.toClient, id)
      pair.client.consume(id, bytes: count - last)
      last = count
      pair.exchange()
    }
    #expect(last == 1 << 20)
  }

  @Test("small exchanges cause no PING") func noProbes() throws {
    let pair = Pair()
    for _ in 0..<50 {
      let id = try pair.client.submitRequest(.post(), endStream: false)
      pair.client.write(id, ByteBuffer(repeating: 1, count: 1000))
      pair.client.finish(id)
      var wire = ByteBuffer()
      pair.client.nextTransmit(maximum: 1 << 20, into: &wire, at: pair.now)
      pair.server.receive(wire, at: pair.now)
      pair.collect()
      pair.server.submitResponse(id, [":status": "204"], endStream: true)
      wire.clear()
      pair.server.nextTransmit(maximum: 1 << 20, into: &wire, at: pair.now)
      #expect(!RawFrame.parse(wire).contains { $0.type == 6 })
      pair.client.receive(wire, at: pair.now)
    }
  }

  @Test("unread bytes of a reset stream do not shrink the connection's window") func unreadIsReturned() throws {
    var configuration = HTTP2Configuration.defaults
    configuration.windows.maximum = 256 * 1024
    let pair = Pair(server: configuration)
    for _ in 0..<20 {
      let id = try pair.client.submitRequest(.post(), endStream: false)
      pair.client.write(id, ByteBuffer(repeating: 1, count: 200_000))
      pair.exchange()
      #expect(received(pair.takeServerEvents(), id) == 200_000)
      pair.server.reset(id, .cancel)
      pair.client.write(id, ByteBuffer(repeating: 1, count: 50_000))
      pair.exchange()
    }
  }

  @Test("writes to a stream that has ended are dropped") func gone() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.post(), endStream: false)
    pair.exchange()
    pair.client.reset(id, .cancel)
    pair.client.write(id, Self.mebibyte)
    pair.client.finish(id)
    pair.exchange()
    pair.client.write(id, Self.mebibyte)
    pair.server.consume(id, bytes: 1)
    pair.server.submitResponse(id, [":status": "200"], endStream: true)
    pair.exchange()
    #expect(pair.toServer.closed(id) == .cancel)
    #expect(received(pair.toServer, id) == 0)
    #expect(pair.client.openStreams == 0 && pair.server.openStreams == 0)
  }
}
