/// The index of a cache, which also selects what to evict: the responses that have been unused for longest.
///
/// A value without I/O; the bodies are elsewhere, under the same numbers.
struct CacheIndex {
  private struct Entry {
    var response: StoredResponse
    var lastUse: UInt64
  }

  /// The limit of heads and bodies together, in bytes.
  let limit: Int
  private(set) var size = 0
  private var entries: [UInt64: Entry] = [:]
  private var idsByKey: [String: [UInt64]] = [:]
  /// Responses that have not arrived completely.
  private var reservations: [UInt64: String] = [:]
  private var nextID: UInt64 = 1
  private var uses: UInt64 = 0

  init(limit: Int) {
    self.limit = limit
  }

  func responses(for key: String) -> [StoredResponse] {
    idsByKey[key, default: []].compactMap { entries[$0]?.response }
  }

  func response(_ id: UInt64) -> StoredResponse? { entries[id]?.response }

  /// Returns a number for a response that has just been requested.
  mutating func reserve(_ key: String) -> UInt64 {
    defer { nextID += 1 }
    reservations[nextID] = key
    return nextID
  }

  mutating func cancelReservation(_ id: UInt64) {
    reservations[id] = nil
  }

  /// Adds a response that is complete.
  /// - Returns: Those whose bodies must be deleted: the response that it replaces, those that made room, or itself if it was
  ///   invalidated while it arrived.
  mutating func insert(_ response: StoredResponse) -> [UInt64] {
    guard reservations.removeValue(forKey: response.id) != nil, response.size <= limit else { return [response.id] }
    let replaced = responses(for: response.key).filter { $0.selecting == response.selecting }.map(\.id)
    for id in replaced { removeEntry(id) }
    put(response)
    return replaced + evict()
  }

  /// Adds a response that an earlier process left.
  mutating func restore(_ response: StoredResponse) {
    nextID = max(nextID, response.id + 1)
    put(response)
  }

  /// Replaces the head of a response.
  /// - Returns: `false` if the response is no longer here.
  mutating func update(_ response: StoredResponse) -> Bool {
    guard let old = entries[response.id] else { return false }
    size += response.size - old.response.size
    uses += 1
    entries[response.id] = Entry(response: response, lastUse: uses)
    return true
  }

  mutating func touch(_ id: UInt64) {
    uses += 1
    entries[id]?.lastUse = uses
  }

  /// Removes all responses of a URL, including those that are still arriving: they may be older than the change that invalidated
  /// them.
  /// - Returns: Those whose bodies must be deleted.
  mutating func remove(_ key: String) -> [UInt64] {
    reservations = reservations.filter { $0.value != key }
    let ids = idsByKey[key, default: []]
    for id in ids { removeEntry(id) }
    return ids
  }

  /// Removes one response, and no other that is stored for the same URL.
  /// - Returns: The response whose body must be deleted, if the index had it.
  mutating func remove(_ id: UInt64) -> [UInt64] {
    guard entries[id] != nil else { return [] }
    removeEntry(id)
    return [id]
  }

  mutating func removeAll() -> [UInt64] {
    let ids = Array(entries.keys)
    (entries, idsByKey, reservations, size) = ([:], [:], [:], 0)
    return ids
  }

  /// Evicts responses down to nine tenths of the limit, so that not every new response causes an eviction.
  mutating func evict() -> [UInt64] {
    guard size > limit else { return [] }
    var evicted: [UInt64] = []
    for (id, _) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
      if size <= limit / 10 * 9 { break }
      removeEntry(id)
      evicted.append(id)
    }
    return evicted
  }

  private mutating func put(_ response: StoredResponse) {
    uses += 1
    entries[response.id] = Entry(response: response, lastUse: uses)
    idsByKey[response.key, default: []].append(response.id)
    size += response.size
  }

  private mutating func removeEntry(_ id: UInt64) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    size -= entry.response.size
    idsByKey[entry.response.key]?.removeAll { $0 == id }
    if idsByKey[entry.response.key]?.isEmpty == true { idsByKey[entry.response.key] = nil }
  }
}

extension StoredResponse {
  /// The approximate size in memory: a cache of many small responses must not exceed its limit.
  fileprivate var size: Int {
    let fields = fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 64 }
    return length + key.utf8.count + fields + 256
  }
}
