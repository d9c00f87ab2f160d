import BywayHTTP2Session
import BywayHTTPWire
import NIOCore
import TestTools
import Testing

/// A random sequence of actions of two sessions, with the expected outcome.
final class RandomRun {
  /// The message in one direction of a stream.
  struct Message {
    var sent = 0
    var isFinished = false
    var received = 0
    var unread = 0
    var isComplete = false
  }

  private struct Stream {
    var request = Message()
    var response = Message()
    var isAnswered = false
    var wasReset = false
  }

  private let seed: UInt64
  private let mayReset: Bool
  private var random: SeededRandom
  private let pair: Pair
  private var streams: [StreamID: Stream] = [:]
  /// Bytes in flight, which arrive in pieces.
  private var toServer = ByteBuffer()
  private var toClient = ByteBuffer()

  init(seed: UInt64, mayReset: Bool) {
    self.seed = seed
    self.mayReset = mayReset
    var random = SeededRandom(seed: seed)
    var configuration = HTTP2Configuration.defaults
    configuration.windows.initial = [1024, 20_000, 262_144].randomElement(using: &random) ?? 1024
    configuration.windows.maximum = 262_144
    configuration.streams.maximumConcurrent = Int.random(in: 1...20, using: &random)
    self.random = random
    pair = Pair(client: configuration, server: configuration)
  }

  func play(steps: Int) throws {
    for _ in 0..<steps {
      switch Int.random(in: 0..<10, using: &random) {
      case 0: try open()
      case 1, 2: write()
      case 3: if random.chance(40) { end() }
      case 4: read()
      case 5: if mayReset, random.chance(20) { reset() }
      default: carry()
      }
      pair.advance(.milliseconds(Int64.random(in: 0...20, using: &random)))
      if let deadline = pair.client.nextDeadline, deadline <= pair.now { pair.client.handleTimeout(at: pair.now) }
      if let deadline = pair.server.nextDeadline, deadline <= pair.now { pair.server.handleTimeout(at: pair.now) }
      try drain()
    }
  }

  /// Ends every message, reads everything, and checks that nothing is missing.
  func finish() throws {
    for id in streams.keys.sorted() {
      pair.client.finish(id)
      streams[id]?.request.isFinished = true
    }
    var rounds = 0
    while streams.values.contains(where: { !$0.wasReset && !($0.request.isComplete && $0.response.isComplete) }) {
      rounds += 1
      guard rounds < 20_000 else { break }
      carry()
      try drain()
      readAll()
      for (id, stream) in streams where stream.isAnswered && !stream.response.isFinished {
        pair.server.finish(id)
        streams[id]?.response.isFinished = true
      }
    }
    for (id, stream) in streams.sorted(by: { $0.key < $1.key }) where !stream.wasReset {
      for message in [stream.request, stream.response] {
        #expect(message.isComplete && message.received == message.sent, "seed \(seed), stream \(id): \(message)")
      }
    }
    #expect(pair.client.failure == nil && pair.server.failure == nil, "seed \(seed)")
    if !mayReset { #expect(pair.client.openStreams == 0 && pair.server.openStreams == 0, "seed \(seed)") }
  }

  // MARK: Actions

  private func open() throws {
    let id = try pair.client.submitRequest(
      .post("/", ("priority", "u=\(Int.random(in: 0..<8, using: &random))")), endStream: false)
    streams[id] = Stream()
  }

  private func write() {
    guard let id = streams.keys.sorted().randomElement(using: &random), var stream = streams[id] else { return }
    let count = random.chance(20) ? Int.random(in: 1...60_000, using: &random) : Int.random(in: 0...500, using: &random)
    if random.chance(50) {
      guard !stream.request.isFinished else { return }
      pair.client.write(id, pattern(from: stream.request.sent, count))
      stream.request.sent += count
    } else {
      guard stream.isAnswered, !stream.response.isFinished else { return }
      pair.server.write(id, pattern(from: stream.response.sent, count))
      stream.response.sent += count
    }
    streams[id] = stream
  }

  private func end() {
    guard let id = streams.keys.sorted().randomElement(using: &random) else { return }
    if random.chance(50) {
      pair.client.finish(id, trailers: random.chance(30) ? ["x-end": "1"] : nil)
      streams[id]?.request.isFinished = true
    } else if streams[id]?.isAnswered == true {
      pair.server.finish(id, trailers: random.chance(30) ? ["x-end": "1"] : nil)
      streams[id]?.response.isFinished = true
    }
  }

  private func reset() {
    guard let id = streams.keys.sorted().randomElement(using: &random) else { return }
    streams[id]?.wasReset = true
    (random.chance(50) ? pair.client : pair.server).reset(id, .cancel)
  }

  private func read() {
    guard let id = streams.keys.sorted().randomElement(using: &random), let stream = streams[id] else { return }
    take(id, request: Int.random(in: 0...stream.request.unread, using: &random), response: 0)
    take(id, request: 0, response: Int.random(in: 0...stream.response.unread, using: &random))
  }

  private func readAll() {
    for (id, stream) in streams { take(id, request: stream.request.unread, response: stream.response.unread) }
  }

  private func take(_ id: StreamID, request: Int, response: Int) {
    pair.server.consume(id, bytes: request)
    pair.client.consume(id, bytes: response)
    streams[id]?.request.unread -= request
    streams[id]?.response.unread -= response
  }

  /// Makes each side transmit some bytes, and delivers some of those in flight.
  private func carry() {
    pair.client.nextTransmit(maximum: .random(in: 1...20_000, using: &random), into: &toServer, at: pair.now)
    pair.server.nextTransmit(maximum: .random(in: 1...20_000, using: &random), into: &toClient, at: pair.now)
    deliver(&toServer, to: pair.server)
    deliver(&toClient, to: pair.client)
  }

  private func deliver(_ bytes: inout ByteBuffer, to session: HTTP2Session) {
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let count =
        random.chance(30) ? Int.random(in: 1...20, using: &random) : Int.random(in: 1...20_000, using: &random)
      guard let slice = bytes.readSlice(length: min(count, bytes.readableBytes)) else { return }
      session.receive(slice, at: pair.now)
    }
    bytes.discardReadBytes()
  }

  // MARK: Events

  private func drain() throws {
    pair.collect()
    for event in pair.takeServerEvents() {
      if case .head(let id, _, _) = event {
        // Some responses come before the request has ended.
        pair.server.submitResponse(id, [":status": "200"], endStream: false)
        streams[id]?.isAnswered = true
      }
      try note(event, \.request)
    }
    for event in pair.takeClientEvents() { try note(event, \.response) }
  }

  private func note(_ event: HTTP2Event, _ direction: WritableKeyPath<Stream, Message>) throws {
    switch event {
    case .data(let id, let bytes, let endStream):
      var stream = try #require(streams[id], "seed \(seed)")
      let expected = pattern(from: stream[keyPath: direction].received, bytes.readableBytes)
      try #require(bytes == expected, "seed \(seed), stream \(id)")
      stream[keyPath: direction].received += bytes.readableBytes
      stream[keyPath: direction].unread += bytes.readableBytes
      stream[keyPath: direction].isComplete = endStream
      streams[id] = stream
    case .trailers(let id, _):
      streams[id]?[keyPath: direction].isComplete = true
    case .closed(let id, .refusedStream, isUnprocessed: true):
      // The stream was opened before the server's limit was known.
      streams[id]?.wasReset = true
    case .closed(let id, let code, _):
      let stream = try #require(streams[id], "seed \(seed)")
      try #require(code == .noError || stream.wasReset, "seed \(seed), stream \(id): \(code)")
    case .failed(let failure):
      Issue.record("seed \(seed): \(failure)")
    default: break
    }
  }

  /// Returns bytes that encode their position, so that a lost or doubled one is detected.
  private func pattern(from start: Int, _ count: Int) -> ByteBuffer {
    let offset = start % Self.period
    return Self.pattern.getSlice(at: offset, length: count) ?? ByteBuffer()
  }

  private static let period = 65_521
  private static let pattern = {
    let bytes = (0..<period).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    return ByteBuffer(bytes: bytes + bytes)
  }()
}
