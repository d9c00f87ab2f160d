import Byway
import BywayHTTPWire
import NIOCore

/// The records of the last exchanges, with the versions of their changes. A value without clock or lock.
///
/// Readers get states, not events: a slow reader misses intermediate states, and nothing has to be stored for it.
struct InspectedExchanges: Sendable {
  struct Limits: Sendable, Hashable {
    var exchanges: Int
    /// The maximum number of bytes of all records without bodies.
    var heads: Int
    /// The maximum number of bytes kept of each body, and of all bodies.
    var body: Int
    var bodies: Int

    init(exchanges: Int = 10_000, heads: Int = 8 << 20, body: Int = 1 << 20, bodies: Int = 8 << 20) {
      (self.exchanges, self.heads, self.body, self.bodies) = (exchanges, heads, min(body, bodies), bodies)
    }

    /// The limits within a memory budget: an eighth each for heads and for bodies.
    init(body: Int, within budget: Int) {
      self.init(heads: budget / 8, body: body, bodies: budget / 8)
    }
  }

  enum Body {
    case request, response
  }

  /// The changes that a reader has not seen yet.
  struct News {
    /// The changed exchanges, in the order of their changes.
    var changed: [InspectedExchange] = []
    /// The version that the reader has seen after these changes.
    var version: UInt64
    /// Exchanges with smaller ids are removed once they have ended.
    var first: Int
    /// The number of changes left for the next time.
    var left = 0
    /// Whether the records that the reader has seen have been cleared since.
    var isCleared = false
  }

  var limits: Limits
  private var entries: [Int: InspectedExchange] = [:]
  /// The smallest id of ended exchanges, except those in ``overdue``. Running exchanges may have smaller ids.
  private var first = 1
  /// The exchanges that were still running when they should have been removed, and have ended since.
  private var overdue = CircularBuffer<Int>()
  private var next = 1
  private(set) var version: UInt64 = 0
  private static let behindLimit = 8
  private static let longWait = TimeAmount.milliseconds(20)

  /// The running exchanges of each link, in the order in which they were sent.
  private var underWay: [String: [Int]] = [:]
  /// The numbers of running exchanges by the listeners that received them.
  private var received: [String: Int] = [:]
  private var keptBytes = 0
  private var headBytes = 0
  private var clearing: UInt64 = 0
  /// The exchanges with kept bodies, in the order in which keeping began. Some may have been removed since.
  private var bodied = CircularBuffer<Int>()

  init(limits: Limits = Limits()) {
    self.limits = limits
  }

  var count: Int { entries.count }
  /// The bytes of memory of all records.
  var byteCount: Int { keptBytes + headBytes }
  /// The number of entries in `bodied`, for tests of its bound.
  var bodiedCount: Int { bodied.count }

  /// The ids of all records, in the order in which the exchanges began.
  var ids: [Int] { entries.keys.sorted() }

  /// The id of the next exchange.
  var nextID: Int { next }

  /// Returns the first exchange at a listener, from an id on.
  func first(from id: Int, at listener: String) -> InspectedExchange? {
    (id..<max(id, next)).lazy.compactMap { entries[$0] }.first { $0.record.listener == listener }
  }

  subscript(id: Int) -> InspectedExchange? { entries[id] }

  // MARK: Recording

  /// - Parameter time: in milliseconds since 1970.
  mutating func begin(_ record: ExchangeRecord, at time: Double) -> Int {
    while entries.count >= limits.exchanges || headBytes > limits.heads, dropOldest() {}
    let id = next
    next += 1
    version += 1
    let entry = InspectedExchange(id: id, version: version, begun: time, record: record)
    entries[id] = entry
    received[record.listener, default: 0] += 1
    headBytes += entry.headBytes
    return id
  }

  mutating func update(_ id: Int, _ change: (inout InspectedExchange) -> Void) {
    version += 1
    headBytes += entries[id]?.change(version, change) ?? 0
  }

  /// Returns the number of running exchanges on a link, or to an origin.
  func running(on upstream: String) -> Int { underWay[upstream]?.count ?? 0 }

  /// Returns the number of running exchanges that came over a link, which is given without its options.
  func running(at address: String) -> Int {
    received.reduce(0) { $0 + (LinkAddress.publicName(of: $1.key) == address ? $1.value : 0) }
  }

  mutating func sent(_ id: Int, _ fields: FieldSection, _ record: ExchangeRecord) {
    removeRunning(id)
    let link = record.upstream ?? ""
    let others = underWay[link] ?? []
    let concurrent = others.suffix(Self.behindLimit).map {
      InspectedExchange.ConcurrentExchange(id: $0, bytes: entries[$0]?.carriedBytes ?? 0)
    }
    underWay[link] = others + [id]
    update(id) {
      $0.sent = fields
      $0.record = record
      $0.behind = concurrent
    }
  }

  /// Records the answer of the far end.
  mutating func answered(_ id: Int, _ fields: FieldSection, _ record: ExchangeRecord) {
    let meanwhile = meanwhile(of: id, record)
    update(id) {
      $0.answered = fields
      $0.record = record
      $0.meanwhile = meanwhile
    }
  }

  /// Returns the other exchanges that the link carried during a long wait for an answer.
  private func meanwhile(of id: Int, _ record: ExchangeRecord) -> [InspectedExchange.ConcurrentExchange] {
    guard let entry = entries[id], let sent = record.sent, let answered = record.answered,
      answered - sent >= Self.longWait
    else { return [] }
    let later = (underWay[record.upstream ?? ""] ?? []).reversed().prefix { $0 > id }.prefix(Self.behindLimit)
    let all = entry.behind + later.map { InspectedExchange.ConcurrentExchange(id: $0, bytes: 0) }
    let carried = all.compactMap { other in
      entries[other.id].map { InspectedExchange.ConcurrentExchange(id: other.id, bytes: $0.carriedBytes - other.bytes) }
    }
    return carried.filter { $0.bytes > 0 }.sorted { $0.bytes > $1.bytes }
  }

  mutating func end(_ id: Int, _ record: ExchangeRecord) {
    removeRunning(id)
    if entries[id]?.isRunning == true {
      let count = (received[record.listener] ?? 1) - 1
      received[record.listener] = count == 0 ? nil : count
    }
    update(id) { $0.record = record }
    if id < first { overdue.append(id) }
  }

  /// Removes an exchange from the running ones of its link.
  private mutating func removeRunning(_ id: Int) {
    guard let entry = entries[id], entry.sent != nil else { return }
    let link = entry.record.upstream ?? ""
    underWay[link]?.removeAll { $0 == id }
    if underWay[link]?.isEmpty == true { underWay[link] = nil }
  }

  /// Keeps a piece of a body, as far as the limits permit.
  /// - Parameter time: in milliseconds since 1970.
  mutating func append(_ bytes: ByteBuffer, to body: Body, of id: Int, at time: Double) {
    let path: WritableKeyPath<InspectedExchange, InspectedExchange.KeptBody> =
      body == .request ? \.requestBody : \.responseBody
    guard let known = entries[id]?[keyPath: path].kept.readableBytes else { return }
    let limit = limits.body
    let added = min(bytes.readableBytes, max(0, limit - known))
    if added > 0 { dropBodies(until: limits.bodies - added, besides: id) }
    let isRoom = keptBytes + added <= limits.bodies
    var grown = 0
    update(id) { inspected in
      let before = inspected[keyPath: path].size
      inspected[keyPath: path].count += bytes.readableBytes
      guard isRoom else {
        if inspected.form != nil { inspected[keyPath: path].stopKeeping() }
        return
      }
      if let form = inspected.form {
        inspected[keyPath: path].keepLatest(bytes.readableBytesView, of: form, limit: limit, at: time)
      } else {
        inspected[keyPath: path].kept.writeBytes(bytes.readableBytesView.prefix(added))
      }
      grown = inspected[keyPath: path].size - before
    }
    keptBytes += grown
    if grown > 0, entries[id]?.keptBytes == grown { noteBody(of: id) }
  }

  private mutating func noteBody(of id: Int) {
    bodied.append(id)
    guard bodied.count > 2 * entries.count + 64 else { return }
    bodied = CircularBuffer(bodied.filter { entries[$0] != nil })
  }

  /// Removes all ended exchanges.
  mutating func clear() {
    for (id, entry) in entries where !entry.isRunning { drop(id) }
    overdue.removeAll()
    while first < next, entries[first] == nil { first += 1 }
    version += 1
    clearing = version
  }

  // MARK: Reading

  /// - Parameters:
  ///   - version: the last version that the reader has seen.
  ///   - limit: the maximum number of exchanges to return.
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

  /// Removes the oldest ended exchange. Running ones stay: the connections bound their number. None is examined twice.
  /// - Returns: whether one was removed.
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

  /// Drops the oldest records until about that many bytes are free. Of running exchanges it drops the bodies, those of conversations last.
  mutating func release(_ bytes: Int) {
    let left = max(0, byteCount - bytes)
    while byteCount > left, dropOldest() {}
    guard byteCount > left else { return }
    dropBodies(until: keptBytes - (byteCount - left))
    guard byteCount > left else { return }
    for id in entries.keys.sorted() where byteCount > left { stopKeepingBodies(of: id) }
  }

  /// Drops kept bodies, those of the oldest exchanges first, until no more than that many bytes are left.
  private mutating func dropBodies(until left: Int, besides kept: Int? = nil) {
    guard keptBytes > left else { return }
    var spared: [Int] = []
    while keptBytes > left, let id = bodied.popFirst() {
      guard let entry = entries[id] else { continue }
      // The next messages of a running conversation could not be read without its beginning.
      guard id != kept, !(entry.isRunning && entry.form != nil) else {
        spared.append(id)
        continue
      }
      keptBytes -= entry.keptBytes
      update(id) {
        $0.requestBody.clear()
        $0.responseBody.clear()
      }
    }
    bodied.append(contentsOf: spared)
  }

  private mutating func stopKeepingBodies(of id: Int) {
    guard let entry = entries[id], entry.keptBytes > 0 else { return }
    keptBytes -= entry.keptBytes
    update(id) {
      $0.requestBody.stopKeeping()
      $0.responseBody.stopKeeping()
    }
  }
}

extension InspectedExchange {
  /// - Returns: the number of bytes by which its heads have grown.
  fileprivate mutating func change(_ version: UInt64, _ change: (inout InspectedExchange) -> Void) -> Int {
    let before = headBytes
    self.version = version
    change(&self)
    return headBytes - before
  }
}
