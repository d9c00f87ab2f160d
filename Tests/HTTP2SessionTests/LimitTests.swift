import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import Testing

@Suite struct LimitTests {
  private var strict: HTTP2Configuration {
    var configuration = HTTP2Configuration.defaults
    configuration.streams.maximumHeaderListSize = 2048
    configuration.floods.resets = RateLimit(burst: 10, perSecond: 5)
    configuration.floods.controlFrames = RateLimit(burst: 20, perSecond: 10)
    configuration.floods.windowUpdates = RateLimit(burst: 20, perSecond: 10)
    configuration.floods.tinyData = RateLimit(burst: 20, perSecond: 10)
    return configuration
  }

  private let large = [("x-large", String(repeating: "a", count: 3000))]

  /// A configuration in which running requests may hold two heads.
  private static var narrow: HTTP2Configuration {
    var configuration = HTTP2Configuration.defaults
    configuration.streams.maximumHeaderListSize = 4096
    configuration.streams.heldHeaderSize = 8000
    return configuration
  }

  @Test("a request head above the limit gets 431, and is not reported") func oversizedRequest() {
    let client = RawClient(strict)
    client.send(.headers(1, HPACK.get + HPACK.block(large)))
    #expect(client.isAnswered(1))
    #expect(client.events.heads.isEmpty && client.events.closed(1) == nil)
    #expect(client.server.openStreams == 0)
    #expect(client.isAlive)
  }

  @Test("431 ends a request with a body in progress") func oversizedUpload() {
    let client = RawClient(strict)
    client.send(.post(1, large), .data(1, [1]))
    #expect(client.isAnswered(1))
    #expect(client.streamError(1) == .noError)
    #expect(client.events.body(of: 1).bytes.readableBytes == 0)
    #expect(client.server.openStreams == 0)
  }

  @Test("an upload whose trailers are above the limit is reset, and the trailers are not reported")
  func oversizedTrailers() {
    let client = RawClient(strict)
    client.send(.post(1), .data(1, [1]), .headers(1, HPACK.block([("x-first", "1")] + large)))
    #expect(client.streamError(1) == .enhanceYourCalm)
    #expect(!client.events.contains { if case .trailers = $0 { true } else { false } })
    #expect(client.server.openStreams == 0)
    #expect(client.isAlive)
  }

  @Test("a repeated indexed field counts each time toward the head's limit") func bomb() {
    let client = RawClient(strict)
    let entry: [UInt8] = [0x40, 0x01, 0x78, 0x64] + Array(repeating: 0x61, count: 100)
    client.send(.headers(1, HPACK.get + entry + Array(repeating: 0xBE, count: 10_000)))
    #expect(client.events.heads.isEmpty)
    #expect(client.isAlive)
  }

  @Test("a response with an oversized head, trailers or informational response is reset", arguments: [0, 1, 2])
  func oversizedResponse(
    _ kind: Int
  )
    throws
  {
    let pair = Pair(client: strict)
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    let filler: FieldSection = ["x-large": large[0].1]
    var head: FieldSection = [":status": kind == 2 ? "103" : "200"]
    if kind != 1 { head.append(filler.lines[0], of: filler) }
    if kind == 2 {
      pair.server.submitInformational(id, head)
    } else {
      pair.server.submitResponse(id, head, endStream: false)
    }
    if kind == 1 { pair.server.finish(id, trailers: filler) }
    pair.exchange()
    #expect(pair.toClient.closed(id) == .enhanceYourCalm)
    #expect(pair.toClient.failure == nil)
  }

  @Test("a response after more than 16 informational ones is reset with the reason")
  func informationalFlood() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    func told() -> Int { pair.toClient.filter { if case .informational = $0 { true } else { false } }.count }
    for _ in 0..<16 {
      pair.server.submitInformational(id, [":status": "103"])
      pair.exchange()
    }
    #expect(told() == 16 && pair.toClient.closed(id) == nil)
    for _ in 0..<2 {
      pair.server.submitInformational(id, [":status": "103"])
      pair.exchange()
    }
    #expect(told() == 16)
    #expect(pair.toClient.closed(id) == .enhanceYourCalm)
    let reasons = pair.toClient.compactMap { if case .violated(id, let failure) = $0 { failure.message } else { nil } }
    #expect(reasons == ["More than 16 informational responses came."])
    #expect(pair.toClient.failure == nil)
  }

  @Test("informational responses are omitted for a peer that does not read, and sent again once it reads")
  func unreadInformational() throws {
    let pair = Pair()
    let ids = try (0..<3).map { _ in try pair.client.submitRequest(.get(), endStream: true) }
    pair.exchange()
    // Each counts slightly more than 30,000 bytes: the third is the last to begin below 64 KiB.
    let head: FieldSection = [":status": "103", "link": String(repeating: "l", count: 30_000)]
    for id in ids { for _ in 0..<3 { pair.server.submitInformational(id, head) } }
    #expect(pair.server.informationalSize < MessageLimits.waitingInformational + 31_000)
    pair.exchange()
    func told() -> Int { pair.toClient.filter { if case .informational = $0 { true } else { false } }.count }
    #expect(told() == 3)
    #expect(pair.server.informationalSize == 0)
    pair.server.submitInformational(ids[2], head)
    pair.server.reset(ids[2], .cancel)
    pair.exchange()
    #expect(pair.server.informationalSize == 0)
    pair.server.submitInformational(ids[1], head)
    pair.exchange()
    #expect(told() == 4)
  }

  @Test("a request is refused if the heads of running ones use up the limit, and accepted once one has ended")
  func heldHeads() {
    let client = RawClient(Self.narrow)
    client.answers = false
    for id in [1, 3, 5] as [UInt32] { client.send(.headers(id, HPACK.get + HPACK.block(large))) }
    #expect(client.events.heads == [1, 3])
    #expect(client.streamError(5) == .refusedStream)
    #expect(client.streamError(3) == nil)
    client.send(.reset(1))
    client.send(.headers(7, HPACK.get + HPACK.block(large)))
    #expect(client.events.heads == [1, 3, 7])
    #expect(client.isAlive)
  }

  @Test("trailers of a request count until it ends, and reset it if there is no room")
  func heldTrailers() {
    let client = RawClient(Self.narrow)
    client.answers = false
    client.send(.post(1, large), .headers(1, HPACK.block(large)))
    client.send(.headers(3, HPACK.get + HPACK.block(large)))
    #expect(client.streamError(3) == .refusedStream)
    client.send(.reset(1))
    client.send(.post(5, large), .post(7, large), .headers(5, HPACK.block(large)))
    #expect(client.events.heads == [1, 5, 7])
    #expect(client.streamError(5) == .enhanceYourCalm)
    #expect(client.streamError(7) == nil)
    #expect(client.isAlive)
  }

  @Test("responses whose heads or trailers exceed what may wait for a client are reset", arguments: [true, false])
  func unsentHeads(_ areTrailers: Bool) throws {
    let pair = Pair(server: Self.narrow)
    let filler: FieldSection = ["x-large": large[0].1]
    var head: FieldSection = [":status": "200"]
    if !areTrailers { head.append(filler.lines[0], of: filler) }
    let ids = try (0..<3).map { _ in try pair.client.submitRequest(.get(), endStream: true) }
    pair.exchange()
    if areTrailers {
      for id in ids { pair.server.submitResponse(id, head, endStream: false) }
      pair.exchange()
      for id in ids { pair.server.finish(id, trailers: filler) }
    } else {
      for id in ids { pair.server.submitResponse(id, head, endStream: true) }
    }
    #expect((6000...8000).contains(pair.server.unsentHeadSize))
    pair.exchange()
    #expect(ids.map { pair.toClient.closed($0) } == [.noError, .noError, .enhanceYourCalm])
    #expect(pair.server.unsentHeadSize == 0)
    let next = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    pair.server.submitResponse(next, head, endStream: true)
    pair.exchange()
    #expect(pair.toClient.closed(next) == .noError)
    #expect(pair.server.unsentHeadSize == 0 && pair.server.openStreams == 0)
  }

  @Test("informational responses beyond 64 KiB that arrive at once are dropped, and the final one is not")
  func informationalBomb() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    let head: FieldSection = [":status": "103", "link": String(repeating: "l", count: 30_000)]
    var bytes = ByteBuffer()
    for _ in 0..<8 {
      pair.server.submitInformational(id, head)
      pair.server.nextTransmit(maximum: 1 << 20, into: &bytes, at: pair.now)
    }
    pair.client.receive(bytes, at: pair.now)
    pair.collect()
    #expect(pair.toClient.filter { if case .informational = $0 { true } else { false } }.count == 3)
    pair.server.submitResponse(id, [":status": "200"], endStream: true)
    pair.exchange()
    #expect(pair.toClient.heads == [id] && pair.toClient.closed(id) == .noError)
  }

  @Test("a large head is sent in as many frames as needed") func largeHead() throws {
    var configuration = HTTP2Configuration.defaults
    configuration.streams.maximumHeaderListSize = 200_000
    let pair = Pair(client: configuration, server: configuration)
    let id = try pair.client.submitRequest(
      .get("/", ("x-large", String(repeating: "~", count: 60_000))), endStream: true)
    pair.exchange()
    #expect(pair.toServer.heads == [id])
  }

  @Test("a head too large to be sent closes its stream, which does not hang") func unsendable() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    var head: FieldSection = [":status": "200"]
    for _ in 0..<10 { head.append(name: "x-large", value: String(repeating: "~", count: 60_000)) }
    pair.server.submitResponse(id, head, endStream: false)
    pair.server.write(id, ByteBuffer(string: "x"))
    pair.exchange()
    #expect(pair.toServer.closed(id) == .internalError)
    #expect(pair.toClient.closed(id) == .internalError)
  }

  @Test("trailers too large to be sent close their stream, which does not hang") func unsendableTrailers() throws {
    let pair = Pair()
    let id = try pair.client.submitRequest(.get(), endStream: true)
    pair.exchange()
    var trailers = FieldSection()
    for _ in 0..<10 { trailers.append(name: "x-large", value: String(repeating: "~", count: 60_000)) }
    pair.server.submitResponse(id, [":status": "200"], endStream: false)
    pair.server.write(id, ByteBuffer(string: "x"))
    pair.server.finish(id, trailers: trailers)
    pair.exchange()
    #expect(pair.toServer.closed(id) == .internalError)
    #expect(pair.toClient.closed(id) == .internalError)
  }

  @Test("a peer that opens streams only to reset them is disconnected") func rapidReset() {
    let client = RawClient(strict)
    client.answers = false
    for index in 0..<11 as Range<UInt32> { client.send(.post(2 * index + 1), .reset(2 * index + 1)) }
    #expect(client.connectionError == .enhanceYourCalm)
    #expect(client.events.failure?.kind == .flooded)
  }

  @Test("a peer that provokes resets is disconnected") func madeReset() {
    let client = RawClient(strict)
    for index in 0..<11 as Range<UInt32> {
      client.send(.post(2 * index + 1, [("content-length", "1")]), .data(2 * index + 1, [], flags: RawFrame.endStream))
    }
    #expect(client.connectionError == .enhanceYourCalm)
  }

  @Test("resets at a moderate rate are accepted") func slowResets() {
    let client = RawClient(strict)
    for index in 0..<100 as Range<UInt32> {
      client.now = client.now + .milliseconds(200)
      client.send(.post(2 * index + 1), .reset(2 * index + 1))
    }
    #expect(client.isAlive)
  }

  @Test("a long silence does not permit a flood of resets") func quietBeforeFlood() {
    let client = RawClient(strict)
    for index in 0..<10 as Range<UInt32> { client.send(.post(2 * index + 1), .reset(2 * index + 1)) }
    #expect(client.isAlive)
    client.now = client.now + .hours(8)
    for index in 10..<21 as Range<UInt32> { client.send(.post(2 * index + 1), .reset(2 * index + 1)) }
    #expect(client.connectionError == .enhanceYourCalm)
  }

  @Test("resets sent by this end do not count against the peer") func ownResets() {
    let client = RawClient(strict)
    client.answers = false
    for index in 0..<50 as Range<UInt32> {
      client.send(.post(2 * index + 1))
      client.server.reset(StreamID(2 * index + 1), .cancel)
      client.turn()
    }
    #expect(client.isAlive)
  }

  @Test("a body that was still on its way to a stream reset long ago does not end the connection")
  func lateForOldStreams() {
    let client = RawClient()
    client.answers = false
    for index in 0..<400 as Range<UInt32> {
      client.send(.post(2 * index + 1))
      client.server.reset(StreamID(2 * index + 1), .cancel)
      client.turn()
    }
    for id in [1, 3, 799] as [UInt32] { client.send(.data(id, Array(repeating: 1, count: 100))) }
    #expect(client.isAlive && client.connectionError == nil)
  }

  static let nothings: [RawFrame] = [
    .settings(), .ping(), .priority(1, on: 3), RawFrame(type: 0xBB), .data(1), .data(1, [1]), .windowUpdate(0, 1),
    .windowUpdate(1, 1),
    .ping(1, flags: RawFrame.ack),
    RawFrame(type: 0x10, payload: [0, 0, 0, 1]),
  ]

  @Test("a peer that floods the session with frames without content is disconnected", arguments: nothings)
  func nothing(_ frame: RawFrame) {
    let client = RawClient(strict)
    client.answers = false
    client.send(.post(1))
    // One WINDOW_UPDATE may follow a request.
    for _ in 0..<22 { client.send(frame) }
    #expect(client.connectionError == .enhanceYourCalm)
  }

  @Test("a peer that requests a body byte by byte is disconnected") func dribble() {
    let client = RawClient(strict, settings: [(4, 1)])
    client.answers = false
    client.send(.get(1))
    client.server.submitResponse(1, [":status": "200"], endStream: false)
    client.server.write(1, ByteBuffer(repeating: 0, count: 1000))
    client.turn()
    #expect(client.frames.last { $0.type == 0 }?.payload.count == 1)
    for _ in 0..<22 { client.send(.windowUpdate(1, 1)) }
    #expect(client.connectionError == .enhanceYourCalm)
  }

  @Test("a peer may answer each DATA frame with two WINDOW_UPDATE frames") func acknowledgedBody() throws {
    let client = RawClient(strict)
    client.answers = false
    client.send(.get(1))
    client.server.submitResponse(1, [":status": "200"], endStream: false)
    for _ in 0..<300 {
      client.server.write(1, ByteBuffer(repeating: 0, count: 100))
      client.turn()
      client.send(.windowUpdate(0, 100), .windowUpdate(1, 100))
    }
    #expect(client.isAlive)
  }

  @Test("a body in small frames is not a flood if they carry more than their own overhead") func smallFrames() {
    let client = RawClient(strict)
    client.answers = false
    client.send(.post(1))
    for _ in 0..<300 { client.send(.data(1, Array(repeating: 1, count: 9))) }
    #expect(client.isAlive)
  }

  @Test("a peer whose header block does not end is disconnected") func continuations() {
    let client = RawClient()
    client.send(.headers(1, HPACK.get, flags: 0))
    for _ in 0..<100 { client.send(.continuation(1, [], flags: 0)) }
    #expect(client.events.failure != nil)
    #expect(client.server.isFinished)
  }

  @Test("the unsent replies to a peer that does not read are limited") func unreadAnswers() {
    let server = HTTP2Session(role: .server, at: .uptimeNanoseconds(0))
    server.receive(ByteBuffer(bytes: RawClient.magic + RawFrame.settings().bytes), at: .uptimeNanoseconds(0))
    var time: Int64 = 0
    while server.failure == nil, time < 10_000 {
      time += 1
      server.receive(ByteBuffer(bytes: RawFrame.ping().bytes), at: .uptimeNanoseconds(0) + .seconds(time))
    }
    #expect(server.failure?.kind == .flooded)
  }
}
