import Byway
import HTTPWire
import NIOCore

/// The last exchanges, and which of them have changed since somebody has looked. A value without clock or lock.
///
/// Readers are told states and not events: who reads slowly misses what lies between, and nothing has to be kept for them.
struct Sightings: Sendable {
  struct Limits: Sendable, Hashable {
    var exchanges = 10_000
    /// Bytes of all heads.
    var heads = 64 << 20
    /// Of each body, and of all of them.
    var body = 1 << 20
    var bodies = 64 << 20
  }

  enum Body {
    case request, response
  }

  /// What a reader has not seen yet.
  struct News {
    /// In the order of their changes.
    var changed: [Sighting] = []
    /// Up to which the reader is told now.
    var version: UInt64
    /// Exchanges with smaller ids are not kept any more once they have ended.
    var first: Int
    /// How many changes are left for the next time.
    var left = 0
    /// What the reader has seen was cleared since.
    var isCleared = false
  }

  let limits: Limits
  private var entries: [Int: Sighting] = [:]
  /// Those that have ended have ids from here on, besides ``overdue``; those that run may be older.
  private var first = 1
  /// Those that were still running when their time to go had come, and have ended since.
  private var overdue = CircularBuffer<Int>()
  private var next = 1
  private(set) var version: UInt64 = 0
  private static let behindLimit = 8
  private static let longWait = TimeAmount.milliseconds(20)

  /// By link, those that were sent there and have not ended, in that order.
  private var underWay: [String: [Int]] = [:]
  private var keptBytes = 0
  private var headBytes = 0
  private var clearing: UInt64 = 0
  /// Those of whose bodies something is kept, in the order in which that began; some may have gone.
  private var bodied = CircularBuffer<Int>()

  init(limits: Limits = Limits()) {
    self.limits = limits
  }

  var count: Int { entries.count }
  /// For tests: what is remembered of bodies has a bound too.
  var bodiedCount: Int { bodied.count }

  /// In the order in which they began.
  var all: [Sighting] { entries.values.sorted { $0.id < $1.id } }

  /// That the next exchange will have.
  var nextID: Int { next }

  /// The first of those from an id on that came in at a listener.
  func first(from id: Int, at listener: String) -> Sighting? {
    (id..<max(id, next)).lazy.compactMap { entries[$0] }.first { $0.record.listener == listener }
  }

  subscript(id: Int) -> Sighting? { entries[id] }

  // MARK: What happens

  /// - Parameter time: in milliseconds since 1970.
  mutating func begin(_ record: ExchangeRecord, at time: Double) -> Int {
    while entries.count >= limits.exchanges || headBytes > limits.heads, dropOldest() {}
    let id = next
    next += 1
    version += 1
    entries[id] = Sighting(id: id, version: version, begun: time, record: record)
    headBytes += record.head.byteCount
    return id
  }

  mutating func update(_ id: Int, _ change: (inout Sighting) -> Void) {
    version += 1
    headBytes += entries[id]?.change(version, change) ?? 0
  }

  /// Exchanges that are under way on a link, or to an origin.
  func running(on upstream: String) -> Int { underWay[upstream]?.count ?? 0 }

  mutating func sent(_ id: Int, _ fields: FieldSection, _ record: ExchangeRecord) {
    leave(id)
    let link = record.upstream ?? ""
    let others = underWay[link] ?? []
    let companions = others.suffix(Self.behindLimit).map {
      Sighting.Companion(id: $0, bytes: entries[$0]?.carriedBytes ?? 0)
    }
    underWay[link] = others + [id]
    update(id) {
      $0.sent = fields
      $0.record = record
      $0.behind = companions
    }
  }

  /// The far end's answer has come.
  mutating func answered(_ id: Int, _ fields: FieldSection, _ record: ExchangeRecord) {
    let meanwhile = meanwhile(of: id, record)
    update(id) {
      $0.answered = fields
      $0.record = record
      $0.meanwhile = meanwhile
    }
  }

  /// What a wait that somebody may wonder about was spent on.
  private func meanwhile(of id: Int, _ record: ExchangeRecord) -> [Sighting.Companion] {
    guard let entry = entries[id], let sent = record.sent, let answered = record.answered,
      answered - sent >= Self.longWait
    else { return [] }
    let later = (underWay[record.upstream ?? ""] ?? []).reversed().prefix { $0 > id }.prefix(Self.behindLimit)
    let all = entry.behind + later.map { Sighting.Companion(id: $0, bytes: 0) }
    let carried = all.compactMap { companion in
      entries[companion.id].map { Sighting.Companion(id: companion.id, bytes: $0.carriedBytes - companion.bytes) }
    }
    return carried.filter { $0.bytes > 0 }.sorted { $0.bytes > $1.bytes }
  }

  mutating func end(_ id: Int, _ record: ExchangeRecord) {
    leave(id)
    update(id) { $0.record = record }
    if id < first { overdue.append(id) }
  }

  /// Nothing of it is on its link any more.
  private mutating func leave(_ id: Int) {
    guard let entry = entries[id], entry.sent != nil else { return }
    let link = entry.record.upstream ?? ""
    underWay[link]?.removeAll { $0 == id }
    if underWay[link]?.isEmpty == true { underWay[link] = nil }
  }

  /// Keeps what there is room for.
  /// - Parameter time: in milliseconds since 1970.
  mutating func append(_ bytes: ByteBuffer, to body: Body, of id: Int, at time: Double) {
    let path: WritableKeyPath<Sighting, Sighting.KeptBody> = body == .request ? \.requestBody : \.responseBody
    guard let known = entries[id]?[keyPath: path].kept.readableBytes else { return }
    let limit = limits.body
    let added = min(bytes.readableBytes, max(0, limit - known))
    if added > 0, keptBytes + added > limits.bodies { dropBodies(toFree: added, besides: id) }
    let isRoom = keptBytes + added <= limits.bodies
    var grown = 0
    update(id) { sighting in
      let before = sighting[keyPath: path].size
      sighting[keyPath: path].count += bytes.readableBytes
      guard isRoom else {
        if sighting.form != nil { sighting[keyPath: path].giveUp() }
        return
      }
      if let form = sighting.form {
        sighting[keyPath: path].keepLatest(bytes.readableBytesView, of: form, limit: limit, at: time)
      } else {
        sighting[keyPath: path].kept.writeBytes(bytes.readableBytesView.prefix(added))
      }
      grown = sighting[keyPath: path].size - before
    }
    keptBytes += grown
    if grown > 0, entries[id]?.keptBytes == grown { noteBody(of: id) }
  }

  private mutating func noteBody(of id: Int) {
    bodied.append(id)
    guard bodied.count > 2 * entries.count + 64 else { return }
    bodied = CircularBuffer(bodied.filter { entries[$0] != nil })
  }

  /// Forgets those that have ended.
  mutating func clear() {
    for (id, entry) in entries where !entry.isRunning { drop(id) }
    overdue.removeAll()
    while first < next, entries[first] == nil { first += 1 }
    version += 1
    clearing = version
  }

  // MARK: What a reader is told

  /// - Parameters:
  ///   - version: that the reader was told before.
  ///   - limit: of exchanges at once.
  func news(after version: UInt64, limit: Int) -> News {
    guard version < self.version else { return News(version: self.version, first: first) }
    var changed = entries.values.filter { $0.version > version }
    changed.sort { $0.version < $1.version }
    let left = max(0, changed.count - limit)
    if left > 0 { changed.removeLast(left) }
    let told = left > 0 ? changed.last?.version ?? self.version : self.version
    return News(
      changed: changed, version: told, first: first, left: left, isCleared: version < clearing && version > 0)
  }

  // MARK: Bounds

  /// - Returns: whether one has gone. Those that run are as many as connections allow, and stay; none is looked at twice.
  private mutating func dropOldest() -> Bool {
    if let id = overdue.popFirst() {
      drop(id)
      return true
    }
    while first < next {
      let id = first
      first += 1
      guard let entry = entries[id], !entry.isRunning else { continue }
      drop(id)
      return true
    }
    return false
  }

  private mutating func drop(_ id: Int) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    keptBytes -= entry.keptBytes
    headBytes -= entry.headBytes
  }

  /// The oldest exchanges' first.
  private mutating func dropBodies(toFree wanted: Int, besides kept: Int) {
    var spared: [Int] = []
    while keptBytes + wanted > limits.bodies, let id = bodied.popFirst() {
      guard let entry = entries[id] else { continue }
      // Of a conversation that goes on, what comes next could not be read without its beginning.
      guard id != kept, !(entry.isRunning && entry.form != nil) else {
        spared.append(id)
        continue
      }
      keptBytes -= entry.keptBytes
      update(id) {
        $0.requestBody.forget()
        $0.responseBody.forget()
      }
    }
    bodied.append(contentsOf: spared)
  }
}

extension Sighting {
  /// - Returns: by how many bytes its heads have grown.
  fileprivate mutating func change(_ version: UInt64, _ change: (inout Sighting) -> Void) -> Int {
    let before = headBytes
    self.version = version
    change(&self)
    return headBytes - before
  }
}
