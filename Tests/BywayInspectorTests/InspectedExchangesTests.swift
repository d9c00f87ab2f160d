import BywayHTTPWire
import NIOCore
import Testing

@testable import Byway
@testable import BywayInspector

/// The stored records of exchanges, and the changes reported to a reader.
@Suite("Records of exchanges") struct InspectedExchangesTests {
  private var exchanges = InspectedExchanges(limits: .init(exchanges: 3, heads: 1 << 20, body: 10, bodies: 25))

  private static func record(_ path: String = "/") -> ExchangeRecord {
    ExchangeRecord(
      listener: "unix:/l?mode=0600", version: .http2, head: [":method": "GET", ":path": path], trace: nil, begun: .now()
    )
  }

  private mutating func begin(_ path: String = "/") -> Int { exchanges.begin(Self.record(path), at: 0) }

  private mutating func end(_ id: Int) {
    var record = Self.record()
    record.upstream = exchanges[id]?.record.upstream
    record.ended = .now()
    exchanges.end(id, record)
  }

  private mutating func send(_ id: Int, to link: String) {
    var record = Self.record()
    record.upstream = link
    exchanges.sent(id, [:], record)
  }

  @Test("an exchange lists the exchanges in progress on the same link when it was sent")
  mutating func behind() {
    let ids = [begin(), begin(), begin()]
    send(ids[0], to: "a")
    send(ids[1], to: "b")
    send(ids[2], to: "a")
    #expect(ids.map { exchanges[$0]?.behind.map(\.id) } == [[], [], [ids[0]]])
    end(ids[0])
    let next = begin()
    send(next, to: "a")
    #expect(exchanges[next]?.behind.map(\.id) == [ids[2]])
    // Repeated over another link.
    send(next, to: "b")
    #expect(exchanges[next]?.behind.map(\.id) == [ids[1]])
  }

  @Test("running exchanges are counted by the link that carries them, and by the address of the listener")
  mutating func running() {
    let ids = [begin(), begin(), begin()]
    send(ids[0], to: "serial:/dev/x?baud=9600")
    send(ids[1], to: "serial:/dev/x?baud=9600")
    #expect(exchanges.running(on: "serial:/dev/x?baud=9600") == 2 && exchanges.running(at: "unix:/l") == 3)
    #expect(exchanges.running(at: "unix:/other") == 0)
    for id in ids { end(id) }
    end(ids[0])
    #expect(exchanges.running(on: "serial:/dev/x?baud=9600") == 0 && exchanges.running(at: "unix:/l") == 0)
  }

  @Test(
    "an exchange that waited lists the exchanges whose bytes the link carried meanwhile, the most bytes first")
  mutating func meanwhile() {
    let (before, waiting, other) = (begin(), begin(), begin())
    let sent = NIODeadline.uptimeNanoseconds(1_000_000_000)
    send(before, to: "a")
    exchanges.append(ByteBuffer(repeating: 1, count: 100), to: .response, of: before, at: 0)
    send(waiting, to: "a")
    send(other, to: "b")
    let later = begin()
    send(later, to: "a")
    exchanges.append(ByteBuffer(repeating: 1, count: 30), to: .response, of: before, at: 0)
    exchanges.append(ByteBuffer(repeating: 1, count: 40), to: .request, of: later, at: 0)
    exchanges.append(ByteBuffer(repeating: 1, count: 50), to: .response, of: other, at: 0)
    for (wait, expected) in [(19, []), (20, [later, before])] as [(Int64, [Int])] {
      var record = Self.record()
      (record.upstream, record.sent, record.answered) = ("a", sent, sent + .milliseconds(wait))
      exchanges.answered(waiting, [":status": "200"], record)
      #expect(exchanges[waiting]?.meanwhile.map(\.id) == expected)
    }
    #expect(exchanges[waiting]?.meanwhile.map(\.bytes) == [40, 30])
  }

  @Test("changes since a version are returned in order, up to the reader's limit")
  mutating func news() {
    let (first, second) = (begin("/1"), begin("/2"))
    let all = exchanges.news(after: 0, limit: 10)
    #expect(all.changed.map(\.id) == [first, second] && all.left == 0)
    #expect(exchanges.news(after: all.version, limit: 10).changed.isEmpty)
    exchanges.update(second) { $0.sent = [:] }
    exchanges.update(first) { $0.sent = [:] }
    let some = exchanges.news(after: all.version, limit: 1)
    #expect(some.changed.map(\.id) == [second] && some.left == 1)
    let rest = exchanges.news(after: some.version, limit: 1)
    #expect(rest.changed.map(\.id) == [first] && rest.left == 0)
    #expect(exchanges.news(after: rest.version, limit: 1).changed.isEmpty)
  }

  @Test("the oldest ended exchanges are dropped first, and running ones are kept")
  mutating func bounded() {
    let ids = [begin(), begin(), begin()]
    end(ids[1])
    _ = begin()
    #expect(exchanges.count == 3 && exchanges[ids[1]] == nil && exchanges[ids[0]] != nil)
    #expect(exchanges.news(after: 0, limit: 10).first == ids[1] + 1)
    // Nothing has ended: more exchanges run than should be kept.
    _ = begin()
    #expect(exchanges.count == 4)
    for id in ids { end(id) }
    _ = begin()
    #expect(exchanges.count == 3 && exchanges[ids[0]] == nil && exchanges[ids[2]] == nil)
    #expect(exchanges.news(after: 0, limit: 10).first > ids[2])
  }

  @Test("a long-running exchange does not slow down later ones, and is dropped once it has ended")
  mutating func longRunning() {
    let long = begin()
    for _ in 0..<10 { end(begin()) }
    #expect(exchanges.count == 3 && exchanges[long] != nil)
    // The long-running exchange does not cause repeated scans.
    #expect(exchanges.news(after: 0, limit: 10).first > long)
    end(long)
    #expect(exchanges[long] != nil)
    _ = begin()
    #expect(exchanges[long] == nil && exchanges.count == 3)
  }

  @Test("heads are limited in total, so fewer exchanges are kept if heads are large")
  mutating func heads() {
    exchanges = InspectedExchanges(limits: .init(exchanges: 100, heads: 3000, bodies: 25))
    let large: FieldSection = [":method": "GET", "x": String(repeating: "a", count: 300)]
    for _ in 0..<20 {
      let id = begin()
      exchanges.update(id) { ($0.sent, $0.given) = (large, large) }
      end(id)
    }
    #expect((1...3).contains(exchanges.count))
  }

  @Test("when exchanges with large heads have left, as many small ones are kept as ever")
  mutating func smallAfterLarge() {
    exchanges = InspectedExchanges(limits: .init(exchanges: 10, heads: 8000))
    let large: FieldSection = [":method": "GET", "x": String(repeating: "a", count: 1500)]
    for fields in [large, [:]] as [FieldSection] {
      for _ in 0..<20 {
        let id = begin()
        exchanges.update(id) { ($0.sent, $0.given) = (fields, fields) }
        end(id)
      }
      if fields == large { #expect((2...5).contains(exchanges.count)) }
    }
    #expect(exchanges.count == 10)
  }

  @Test("the messages of a running conversation are kept, and other bodies are dropped first")
  mutating func conversation() {
    let (events, other) = (begin(), begin())
    exchanges.update(events) { $0.given = [":status": "200", "content-type": "text/event-stream"] }
    for id in [events, other, begin()] {
      exchanges.append(ByteBuffer(string: "0123456789"), to: .response, of: id, at: 0)
    }
    #expect(
      exchanges[events]?.responseBody.kept.readableBytes == 10 && exchanges[other]?.responseBody.kept.readableBytes == 0
    )
  }

  @Test("the index of bodies covers kept exchanges only")
  mutating func manyBodies() {
    for _ in 0..<1000 {
      let id = begin()
      for _ in 0..<3 { exchanges.append(ByteBuffer(string: "01234567"), to: .response, of: id, at: 0) }
      end(id)
    }
    #expect(exchanges.ids.map { exchanges[$0]?.responseBody.kept.readableBytes } == [0, 10, 10])
    #expect(exchanges.bodiedCount <= 70)
  }

  @Test("the beginning of each body is kept, all bytes are counted, and the oldest bodies are dropped")
  mutating func bodies() {
    let ids = [begin(), begin(), begin()]
    for id in ids {
      exchanges.append(ByteBuffer(string: "01234567"), to: .response, of: id, at: 0)
      exchanges.append(ByteBuffer(string: "89abcdef"), to: .response, of: id, at: 0)
    }
    let kept = ids.map { exchanges[$0]?.responseBody.kept.readableBytes }
    #expect(kept == [0, 10, 10])
    #expect(ids.map { exchanges[$0]?.responseBody.count } == [16, 16, 16])
    #expect(exchanges[ids[2]].map { String(buffer: $0.responseBody.kept) } == "0123456789")
  }

  @Test("arrival times are recorded for conversations only, and count toward the limit")
  mutating func arrivals() {
    let (plain, events) = (begin(), begin())
    exchanges.update(events) { $0.given = [":status": "200", "content-type": "text/event-stream"] }
    for id in [plain, events] { exchanges.append(ByteBuffer(string: "x"), to: .response, of: id, at: 1) }
    #expect(exchanges[plain]?.responseBody.arrivals.isEmpty == true && exchanges[plain]?.keptBytes == 1)
    #expect(exchanges[events]?.responseBody.arrivals.count == 1 && exchanges[events]?.keptBytes == 17)
    end(plain)
    end(events)
    exchanges.clear()
    #expect(exchanges.count == 0)
  }

  @Test("clearing drops ended exchanges, and later changes to them are ignored")
  mutating func clear() {
    let (gone, runs) = (begin(), begin())
    end(gone)
    exchanges.clear()
    #expect(exchanges[gone] == nil && exchanges[runs] != nil)
    exchanges.append(ByteBuffer(string: "x"), to: .request, of: gone, at: 0)
    end(gone)
    #expect(exchanges.count == 1)
  }
}
