import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import TestTools
import Testing

/// Two sessions in virtual time, driven by random numbers from one seed.
@Suite struct RandomizedTests {
  @Test("every message arrives complete, however the bytes are split", arguments: 1...40 as ClosedRange<UInt64>)
  func wholeMessages(_ seed: UInt64) throws {
    let run = RandomRun(seed: seed, mayReset: false)
    try run.play(steps: 400)
    try run.finish()
  }

  @Test("resets do not affect other streams", arguments: 101...140 as ClosedRange<UInt64>)
  func withResets(_ seed: UInt64) throws {
    let run = RandomRun(seed: seed, mayReset: true)
    try run.play(steps: 400)
    try run.finish()
  }

  @Test("garbage ends a session regularly, without a crash", arguments: 201...260 as ClosedRange<UInt64>)
  func garbage(_ seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let pair = Pair()
    for _ in 0..<Int.random(in: 1...8, using: &random) {
      let id = try pair.client.submitRequest(.post("/", ("x", "y")), endStream: false)
      pair.client.write(id, ByteBuffer(repeating: 3, count: 700))
    }
    var wire = ByteBuffer()
    pair.client.nextTransmit(maximum: 1 << 20, into: &wire, at: pair.now)
    var bytes = Array(wire.readableBytesView)
    for _ in 0..<Int.random(in: 1...20, using: &random) {
      let index = Int.random(in: 24..<bytes.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 1: bytes[index] = .random(in: 0...255, using: &random)
      case 2: bytes.remove(at: index)
      default: bytes.insert(.random(in: 0...255, using: &random), at: index)
      }
    }
    for chunk in random.cut(bytes, upTo: 400) {
      pair.server.receive(ByteBuffer(bytes: chunk), at: pair.now)
      var answer = ByteBuffer()
      pair.server.nextTransmit(maximum: 4096, into: &answer, at: pair.now)
    }
    // In any state, this many zeros are not valid HTTP/2.
    pair.server.receive(ByteBuffer(repeating: 0, count: 1 << 16), at: pair.now)
    var rest = ByteBuffer()
    pair.server.nextTransmit(maximum: 1 << 20, into: &rest, at: pair.now)
    pair.collect()
    // Each reported stream was closed exactly once, and the session has ended.
    let closed = pair.toServer.compactMap { if case .closed(let id, _, _) = $0 { id } else { nil } }
    #expect(Set(pair.toServer.heads) == Set(closed) && closed.count == Set(closed).count, "seed \(seed)")
    #expect(pair.server.isFinished && pair.server.openStreams == 0, "seed \(seed)")
  }

  @Test("bytes that arrive one by one give the same result as all at once") func dripFeed() throws {
    func events(maximum: Int, chunk: Int) throws -> [HTTP2Event] {
      let client = HTTP2Session(role: .client, at: .uptimeNanoseconds(0))
      let id = try client.submitRequest(
        .post("/drip", ("x-long", String(repeating: "x", count: 500))), endStream: false)
      client.write(id, ByteBuffer(bytes: (0..<1000).map { UInt8(truncatingIfNeeded: $0) }))
      client.finish(id, trailers: ["x-sum": "1"])
      var wire = ByteBuffer()
      client.nextTransmit(maximum: maximum, into: &wire, at: .uptimeNanoseconds(0))
      let server = HTTP2Session(role: .server, at: .uptimeNanoseconds(0))
      var events: [HTTP2Event] = []
      while let slice = wire.readSlice(length: min(chunk, wire.readableBytes)), slice.readableBytes > 0 {
        server.receive(slice, at: .uptimeNanoseconds(0))
        while let event = server.nextEvent() { events.append(event) }
      }
      return events
    }
    let whole = try events(maximum: 1 << 20, chunk: 1 << 20)
    let drops = try events(maximum: 1 << 20, chunk: 1)
    #expect(drops.body(of: 1) == whole.body(of: 1))
    #expect(drops.first == whole.first && drops.last == whole.last)
    #expect(drops.heads == whole.heads)
  }
}
