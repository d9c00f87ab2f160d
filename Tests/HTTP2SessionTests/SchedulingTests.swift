import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import Testing

@Suite struct SchedulingTests {
  /// Returns the streams' body bytes in the order of their arrival at the peer: (stream, count).
  private func parts(_ events: [HTTP2Event]) -> [(id: StreamID, count: Int)] {
    events.compactMap { if case .data(let id, let bytes, _) = $0 { (id, bytes.readableBytes) } else { nil } }
  }

  /// Makes a server respond to requests with these `priority` fields, with `bytes` bytes each, all ready at once.
  private func responses(_ priorities: [String?], bytes: Int = 100_000) throws -> (pair: Pair, ids: [StreamID]) {
    var configuration = HTTP2Configuration.defaults
    configuration.windows.initial = 1 << 20
    let pair = Pair(client: configuration)
    let ids = try priorities.map { priority in
      try pair.client.submitRequest(.request("GET", "/", priority.map { [("priority", $0)] } ?? []), endStream: true)
    }
    pair.exchange()
    for id in ids {
      pair.server.submitResponse(id, [":status": "200"], endStream: false)
      pair.server.write(id, ByteBuffer(repeating: UInt8(truncatingIfNeeded: id), count: bytes))
      pair.server.finish(id)
    }
    pair.toClient = []
    return (pair, ids)
  }

  /// Carries the server's output in pieces of 1,000 bytes.
  private func carry(_ pair: Pair, pieces: Int) {
    for _ in 0..<pieces { pair.carry(from: pair.server, to: pair.client, 1000) }
  }

  @Test("streams without a priority share a link fairly") func fairResponses() throws {
    let (pair, ids) = try responses([nil, nil, nil, nil])
    carry(pair, pieces: 100)
    for id in ids {
      let count = parts(pair.toClient).filter { $0.id == id }.reduce(0) { $0 + $1.count }
      #expect((22_000...27_000).contains(count))
    }
  }

  @Test("uploads share a link fairly") func fairRequests() throws {
    let pair = Pair()
    pair.exchange()
    let ids = try (0..<4).map { _ in try pair.client.submitRequest(.post(), endStream: false) }
    for id in ids { pair.client.write(id, ByteBuffer(repeating: 1, count: 100_000)) }
    for _ in 0..<100 { pair.carry(from: pair.client, to: pair.server, 1000) }
    for id in ids {
      let count = parts(pair.toServer).filter { $0.id == id }.reduce(0) { $0 + $1.count }
      #expect((22_000...27_000).contains(count))
    }
  }

  @Test("streams share a link by bytes, even if one is written in small pieces") func fairInBytes() throws {
    let (pair, ids) = try responses([nil], bytes: 100_000)
    let trickle = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange(maximum: 0)
    pair.carry(from: pair.client, to: pair.server, 1 << 20)
    pair.server.submitResponse(trickle, [":status": "200"], endStream: false)
    for _ in 0..<100 {
      pair.server.write(trickle, ByteBuffer(repeating: 2, count: 400))
      pair.carry(from: pair.server, to: pair.client, 1000)
    }
    let bulk = parts(pair.toClient).filter { $0.id == ids[0] }.reduce(0) { $0 + $1.count }
    let slow = parts(pair.toClient).filter { $0.id == trickle }.reduce(0) { $0 + $1.count }
    #expect(slow == 40_000)
    #expect(bulk > 50_000)
  }

  @Test("a small response overtakes long ones") func overtakes() throws {
    let (pair, _) = try responses([nil, nil, nil])
    carry(pair, pieces: 50)
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.carry(from: pair.client, to: pair.server, 1 << 20)
    pair.server.submitResponse(id, [":status": "200"], endStream: false)
    pair.server.write(id, ByteBuffer(string: "ok"))
    pair.server.finish(id)
    pair.toClient = []
    // A long response that has had no more than others may be served once before it.
    for _ in 0..<2 { pair.carry(from: pair.server, to: pair.client, 200) }
    #expect(pair.toClient.body(of: id) == (ByteBuffer(string: "ok"), true))
  }

  @Test("a more urgent stream is sent first, even if another one's turn is not used up", arguments: 0..<20)
  func urgentOvertakes(_ step: Int) throws {
    let (pair, _) = try responses([nil, nil])
    for _ in 0..<9 { pair.carry(from: pair.server, to: pair.client, 500 + 17 * step) }
    let id = try pair.client.submitRequest(.get("/", ("priority", "u=0")), endStream: true)
    pair.carry(from: pair.client, to: pair.server, 1 << 20)
    // The head alone fills this piece, so the long response's turn sends nothing.
    pair.server.submitResponse(id, [":status": "200"], endStream: false)
    pair.carry(from: pair.server, to: pair.client, 30)
    pair.server.write(id, ByteBuffer(string: "now"))
    pair.toClient = []
    pair.carry(from: pair.server, to: pair.client, 500)
    #expect(parts(pair.toClient).first?.id == id)
  }

  @Test("a new stream shares with earlier ones, and does not starve them") func newStream() throws {
    let (pair, ids) = try responses([nil])
    carry(pair, pieces: 50)
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.carry(from: pair.client, to: pair.server, 1 << 20)
    pair.server.submitResponse(id, [":status": "200"], endStream: false)
    pair.server.write(id, ByteBuffer(repeating: 0, count: 100_000))
    pair.toClient = []
    carry(pair, pieces: 20)
    for id in ids + [id] {
      let count = parts(pair.toClient).filter { $0.id == id }.reduce(0) { $0 + $1.count }
      #expect((8_000...12_000).contains(count))
    }
  }

  @Test("DATA frames are cut to the size that the link accepts") func cutsToFit() throws {
    let (pair, ids) = try responses([nil])
    pair.carry(from: pair.server, to: pair.client, 200)
    for _ in 0..<20 {
      var bytes = ByteBuffer()
      pair.server.nextTransmit(maximum: 200, into: &bytes, at: pair.now)
      #expect(bytes.readableBytes <= 200)
      pair.client.receive(bytes, at: pair.now)
    }
    pair.collect()
    #expect(parts(pair.toClient).allSatisfy { $0.count <= 191 && $0.id == ids[0] })
    #expect(parts(pair.toClient).count >= 20)
  }

  @Test(
    "an empty buffer is filled with at least one frame, however little the link accepts", arguments: [1, 9, 10, 60])
  func smallRoom(_ maximum: Int) throws {
    let (pair, _) = try responses([nil])
    pair.carry(from: pair.server, to: pair.client, 200)
    var bytes = ByteBuffer()
    pair.server.nextTransmit(maximum: maximum, into: &bytes, at: pair.now)
    #expect((10...100).contains(bytes.readableBytes))
  }

  @Test("streams with lower urgency numbers are served first, whatever the order of requests") func urgency() throws {
    let (pair, ids) = try responses(["u=7", "u=3", "u=0", nil], bytes: 40_000)
    pair.exchange()
    let order = parts(pair.toClient).map(\.id)
    let last = ids.map { id in order.lastIndex(of: id) ?? -1 }
    let first = ids.map { id in order.firstIndex(of: id) ?? -1 }
    #expect(last[2] < min(first[1], first[3]))
    #expect(max(last[1], last[3]) < first[0])
  }

  @Test("a response's priority field overrides the request's") func responsePriority() throws {
    let pair = Pair()
    let first = try pair.client.submitRequest(.get("/", ("priority", "u=1")), endStream: true)
    let second = try pair.client.submitRequest(.get("/", ("priority", "u=2")), endStream: true)
    pair.exchange()
    pair.server.submitResponse(first, [":status": "200", "priority": "u=6"], endStream: false)
    pair.server.submitResponse(second, [":status": "200"], endStream: false)
    for id in [first, second] { pair.server.write(id, ByteBuffer(repeating: 0, count: 20_000)) }
    pair.exchange()
    #expect(parts(pair.toClient).map(\.id) == [second, second, first, first])
  }

  @Test(
    "PRIORITY_UPDATE changes a stream's urgency",
    arguments: [("u=0", true), ("u=9", false), ("i, u=1;x", true), ("garbage((", false)])
  func priorityUpdate(_ value: String, _ goesFirst: Bool) {
    let client = RawClient(settings: [(4, 1 << 20)])
    client.answers = false
    client.send(.get(1), .get(3))
    // RFC 9218 §7.1.
    client.send(RawFrame(type: 0x10, payload: [0, 0, 0, 3] + Array(value.utf8)))
    for id in [1, 3] as [StreamID] {
      client.server.submitResponse(id, [":status": "200"], endStream: false)
      client.server.write(id, ByteBuffer(repeating: 0, count: 30_000))
    }
    client.turn()
    #expect(client.frames.filter { $0.type == 0 }.prefix(2).map(\.id) == (goesFirst ? [3, 3] : [1, 3]))
  }

  @Test("a reset drops bytes that were not yet taken for sending") func reset() throws {
    let (pair, ids) = try responses([nil, nil])
    carry(pair, pieces: 10)
    pair.server.reset(ids[0], .cancel)
    pair.toClient = []
    carry(pair, pieces: 10)
    #expect(parts(pair.toClient).allSatisfy { $0.id == ids[1] })
    #expect(pair.toClient.closed(ids[0]) == .cancel)
  }
}
