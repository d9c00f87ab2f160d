import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Streams of a session")
struct MultiplexerTests {
  private static func ends(_ count: UInt8 = 4, client: UInt8 = 2, server: UInt8 = 2) throws -> (
    Multiplexer, Multiplexer
  ) {
    let (c, s) = (StreamOffer(count: count, credit: client), StreamOffer(count: count, credit: server))
    return try (
      Multiplexer(.client, #require(StreamAgreement(c, s))), Multiplexer(.server, #require(StreamAgreement(s, c)))
    )
  }

  private static func output(of end: inout Multiplexer, upTo room: Int = 10_000) -> [UInt8] {
    var bytes: [UInt8] = []
    while end.nextOutput(upTo: room, into: &bytes) {}
    return bytes
  }

  private static func events(of end: inout Multiplexer) -> [Multiplexer.Event] {
    var events: [Multiplexer.Event] = []
    while let event = end.nextEvent() { events.append(event) }
    return events
  }

  @Test("a request and its response need two bytes for each piece, and one for each end")
  func exchange() throws {
    var (client, server) = try Self.ends()
    #expect(client.open() == 0)
    client.write([1, 2, 3], to: 0)
    client.finish(0)
    let request = Self.output(of: &client)
    #expect(request == [0x10, 3, 1, 2, 3, 0x20])
    server.receive(request)
    #expect(Self.events(of: &server) == [.opened(0), .received(0, [1, 2, 3]), .ended(0)])
    server.write([4], to: 0)
    server.finish(0)
    let response = Self.output(of: &server)
    #expect(response == [0x10, 1, 4, 0x20])
    client.receive(response)
    #expect(Self.events(of: &client) == [.received(0, [4]), .ended(0), .freed(0)])
    #expect(Self.events(of: &server) == [.freed(0)])
    #expect(client.isIdle && server.isIdle)
  }

  @Test("a stream that is not read stops its sender only")
  func slowReader() throws {
    var (client, server) = try Self.ends()
    for stream in 0...1 {
      #expect(client.open() == stream)
      client.write([UInt8](repeating: UInt8(stream), count: 1000), to: stream)
    }
    var received = [0, 0]
    for _ in 0..<100 {
      server.receive(Self.output(of: &client, upTo: 66))
      for case .received(let stream, let bytes) in Self.events(of: &server) {
        received[stream] += bytes.count
        if stream == 1 { server.consumed(bytes.count, of: 1) }
      }
      client.receive(Self.output(of: &server))
    }
    #expect(received == [128, 1000])
  }

  @Test("a stream with little to send waits for one piece of each other stream")
  func turns() throws {
    var (client, _) = try Self.ends(client: 255, server: 255)
    for stream in 0..<3 {
      #expect(client.open() == stream)
      client.write([UInt8](repeating: 9, count: 5000), to: stream)
    }
    var bytes: [UInt8] = []
    for _ in 0..<7 { #expect(client.nextOutput(upTo: 64, into: &bytes)) }
    #expect(client.open() == 3)
    client.write([7], to: 3)
    bytes = []
    for _ in 0..<4 { #expect(client.nextOutput(upTo: 64, into: &bytes)) }
    #expect(bytes.contains(0x13))
  }

  @Test("a stream that one end aborts is free at both ends, and serves again")
  func aborts() throws {
    for side in 0...1 {
      var (client, server) = try Self.ends(1)
      #expect(client.open() == 0)
      client.write([1], to: 0)
      server.receive(Self.output(of: &client))
      server.write([2], to: 0)
      let late = Self.output(of: &server)
      if side == 0 { client.abort(0) } else { server.abort(0) }
      client.receive(late)
      for _ in 0..<2 {
        server.receive(Self.output(of: &client))
        client.receive(Self.output(of: &server))
      }
      let (atClient, atServer) = (Self.events(of: &client), Self.events(of: &server))
      #expect(atClient == (side == 0 ? [.freed(0)] : [.received(0, [2]), .aborted(0), .freed(0)]))
      #expect(atServer == [.opened(0), .received(0, [1])] + (side == 0 ? [.aborted(0), .freed(0)] : [.freed(0)]))
      #expect(client.open() == 0)
      client.write([3], to: 0)
      server.receive(Self.output(of: &client))
      #expect(Self.events(of: &server) == [.opened(0), .received(0, [3])])
    }
  }

  @Test("an abort of a client that crosses the end of a server does not reach the next stream")
  func crossing() throws {
    var (client, server) = try Self.ends(1)
    #expect(client.open() == 0)
    client.write([1], to: 0)
    client.finish(0)
    server.receive(Self.output(of: &client))
    server.finish(0)
    let end = Self.output(of: &server)
    client.abort(0)
    let abort = Self.output(of: &client)
    #expect(abort == [0x30])
    client.receive(end)
    #expect(client.open() == 0)
    client.write([2], to: 0)
    server.receive(abort + Self.output(of: &client))
    #expect(
      Self.events(of: &server) == [.opened(0), .received(0, [1]), .ended(0), .freed(0), .opened(0), .received(0, [2])])
  }

  @Test("a client aborts a stream that has ended at its server when the credit is used")
  func stuck() throws {
    var (client, server) = try Self.ends(1, server: 1)
    #expect(client.open() == 0)
    client.write([UInt8](repeating: 1, count: 65), to: 0)
    server.receive(Self.output(of: &client))
    server.finish(0)
    client.receive(Self.output(of: &server))
    server.receive(Self.output(of: &client))
    server.receive(Self.output(of: &client))
    #expect(Self.events(of: &client) == [.ended(0), .aborted(0), .freed(0)])
    #expect(
      Self.events(of: &server) == [.opened(0), .received(0, [UInt8](repeating: 1, count: 64)), .aborted(0), .freed(0)])
  }

  @Test("a stream that was given up before it began leaves no trace")
  func unbegun() throws {
    var (client, _) = try Self.ends(1)
    #expect(client.open() == 0 && client.open() == nil)
    client.write([1], to: 0)
    client.abort(0)
    #expect(Self.output(of: &client).isEmpty && client.open() == 0)
  }

  @Test(
    "a server refuses what a client must not send",
    arguments: [
      [0x00], [0x50], [0xF0], [0x12, 1], [0x23], [0x10, 0], [0x40, 0], [0x10, 65] + Array(repeating: 1, count: 65),
      [0x20, 0x20], [0x20, 0x10, 1, 1], [0x10, 64] + Array(repeating: 1, count: 64) + [0x10, 1, 1],
      [0x10, 1, 1] + Array(repeating: [0x40, 255], count: 5).flatMap { $0 },
    ] as [[UInt8]])
  func hostileClient(_ bytes: [UInt8]) throws {
    var (_, server) = try Self.ends(2, server: 1)
    server.receive(bytes)
    server.receive([0x10, 1, 1, 0x20])
    #expect(Self.events(of: &server).last.map { if case .violated = $0 { true } else { false } } == true)
    #expect(Self.output(of: &server).isEmpty)
  }

  @Test(
    "a client refuses what a server must not send",
    arguments: [[0x11, 1, 1], [0x21], [0x31], [0x41, 1], [0x20, 0x10, 1, 1], [0x20, 0x30], [0x10, 65]] as [[UInt8]])
  func hostileServer(_ bytes: [UInt8]) throws {
    var (client, _) = try Self.ends(2, client: 1)
    #expect(client.open() == 0)
    client.write([1], to: 0)
    _ = Self.output(of: &client)
    client.receive(bytes + [UInt8](repeating: 1, count: 65))
    #expect(Self.events(of: &client).contains { if case .violated = $0 { true } else { false } })
  }

  @Test("any bytes are safe, and hold no more than the credit", arguments: 1...200 as ClosedRange<UInt64>)
  func randomBytes(_ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    var (client, server) = try Self.ends(16)
    for _ in 0..<4 { if let stream = client.open() { client.write([1], to: stream) } }
    _ = Self.output(of: &client)
    var held = [Int](repeating: 0, count: 16)
    for _ in 0..<200 {
      let bytes = (0..<Int.random(in: 1...40, using: &generator)).map { _ in
        // Pieces that are valid more often than by chance.
        UInt8.random(in: 0...255, using: &generator) & (Bool.random(using: &generator) ? 0x43 : 0xFF)
      }
      server.receive(bytes)
      client.receive(bytes)
      for event in Self.events(of: &server) {
        if case .opened(let stream) = event { held[stream] = 0 }
        if case .received(let stream, let bytes) = event { held[stream] += bytes.count }
      }
      #expect(held.allSatisfy { $0 <= 128 })
      _ = Self.events(of: &client)
      _ = Self.output(of: &server)
    }
  }

  @Test("each stream arrives whole and in order, whatever the schedule", arguments: 1...20 as ClosedRange<UInt64>)
  func randomSchedule(_ seed: UInt64) throws {
    var run = try MultiplexerRun(seed: seed)
    try run.run()
  }
}

extension Multiplexer {
  fileprivate mutating func receive(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { receive($0) }
  }

  fileprivate mutating func write(_ bytes: [UInt8], to stream: Int) {
    bytes.withUnsafeBytes { write($0, to: stream) }
  }
}

/// Two ends, with random writes, reads, ends, aborts and delays.
private struct MultiplexerRun {
  /// The history of one stream at one end.
  struct Life {
    var sent: [UInt8] = []
    var received: [UInt8] = []
    var unread = 0
    var hasFinished = false
    var wasEnded = false
    var wasAborted = false
  }

  struct End {
    var multiplexer: Multiplexer
    let credit: Int
    var current: [Life?]
    var past: [[Life]]
    /// Bytes on their way to this end.
    var arriving: [UInt8] = []

    init(_ multiplexer: Multiplexer, credit: Int) {
      self.multiplexer = multiplexer
      self.credit = credit
      current = Array(repeating: nil, count: multiplexer.count)
      past = Array(repeating: [], count: multiplexer.count)
    }

    mutating func takeEvents() throws {
      while let event = multiplexer.nextEvent() {
        switch event {
        case .opened(let stream): current[stream] = Life()
        case .received(let stream, let bytes):
          current[stream]?.received += bytes
          current[stream]?.unread += bytes.count
          #expect((current[stream]?.unread ?? 0) <= credit)
        case .ended(let stream): current[stream]?.wasEnded = true
        case .aborted(let stream): current[stream]?.wasAborted = true
        case .freed(let stream):
          if let life = current[stream].take() { past[stream].append(life) }
        case .violated(let reason): throw Violation(reason: reason)
        }
      }
    }
  }

  struct Violation: Error {
    let reason: String
  }

  var generator: SplitMix64
  var client, server: End

  init(seed: UInt64) throws {
    generator = SplitMix64(seed: seed)
    let count = UInt8.random(in: 1...5, using: &generator)
    let own = StreamOffer(count: count, credit: .random(in: 1...4, using: &generator))
    let peer = StreamOffer(count: 5, credit: .random(in: 1...4, using: &generator))
    client = try End(Multiplexer(.client, #require(StreamAgreement(own, peer))), credit: own.bytes)
    server = try End(Multiplexer(.server, #require(StreamAgreement(peer, own))), credit: peer.bytes)
  }

  mutating func run() throws {
    for _ in 0..<1500 {
      if chance(3), let stream = client.multiplexer.open() { client.current[stream] = Life() }
      act(on: \.client, aborts: true)
      act(on: \.server, aborts: true)
      try pass()
    }
    // At last nothing new begins, and all that runs comes to its end.
    for _ in 0..<20_000 where !(client.multiplexer.isIdle && server.multiplexer.isIdle) {
      for end in [\MultiplexerRun.client, \MultiplexerRun.server] {
        act(on: end, aborts: false)
        for stream in self[keyPath: end].current.indices where self[keyPath: end].current[stream] != nil {
          self[keyPath: end].multiplexer.finish(stream)
          self[keyPath: end].current[stream]?.hasFinished = true
        }
      }
      try pass()
    }
    #expect(client.multiplexer.isIdle && server.multiplexer.isIdle)
    for stream in client.past.indices { compare(client.past[stream], server.past[stream]) }
    #expect(client.past.reduce(0) { $0 + $1.count } > 20)
  }

  private mutating func chance(_ of: Int) -> Bool { Int.random(in: 0..<of, using: &generator) == 0 }

  private mutating func act(on end: WritableKeyPath<MultiplexerRun, End>, aborts: Bool) {
    for stream in self[keyPath: end].current.indices {
      guard let life = self[keyPath: end].current[stream] else { continue }
      if !life.hasFinished, !life.wasAborted, aborts, chance(2) {
        let bytes = (0..<Int.random(in: 1...200, using: &generator)).map { _ in
          UInt8.random(in: 0...255, using: &generator)
        }
        self[keyPath: end].multiplexer.write(bytes, to: stream)
        self[keyPath: end].current[stream]?.sent += bytes
      }
      if life.unread > 0, chance(2) {
        let count = Int.random(in: 1...life.unread, using: &generator)
        self[keyPath: end].multiplexer.consumed(count, of: stream)
        self[keyPath: end].current[stream]?.unread -= count
      }
      if chance(8) {
        self[keyPath: end].multiplexer.finish(stream)
        self[keyPath: end].current[stream]?.hasFinished = true
      } else if aborts, self[keyPath: end].multiplexer.streams[stream].hasBegun, chance(60) {
        self[keyPath: end].current[stream]?.hasFinished = true
        self[keyPath: end].current[stream]?.wasAborted = true
        self[keyPath: end].multiplexer.abort(stream)
      }
    }
  }

  /// Moves bytes between the ends, in parts.
  private mutating func pass() throws {
    if chance(2) {
      _ = client.multiplexer.nextOutput(upTo: .random(in: 3...300, using: &generator), into: &server.arriving)
    }
    if chance(2) {
      _ = server.multiplexer.nextOutput(upTo: .random(in: 3...300, using: &generator), into: &client.arriving)
    }
    for end in [\MultiplexerRun.client, \MultiplexerRun.server] {
      let count = min(self[keyPath: end].arriving.count, Int.random(in: 0...300, using: &generator))
      let bytes = Array(self[keyPath: end].arriving.prefix(count))
      self[keyPath: end].arriving.removeFirst(count)
      self[keyPath: end].multiplexer.receive(bytes)
      try self[keyPath: end].takeEvents()
    }
  }

  private func compare(_ atClient: [Life], _ atServer: [Life]) {
    #expect(atClient.count == atServer.count)
    for (life, other) in zip(atClient, atServer) {
      #expect(life.sent.starts(with: other.received) && other.sent.starts(with: life.received))
      if life.wasAborted || other.wasAborted { continue }
      #expect(life.sent == other.received && other.sent == life.received && life.wasEnded && other.wasEnded)
    }
  }
}
