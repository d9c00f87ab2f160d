/// What a cache holds, and what goes when there is too much of it: whatever was of no use for longest.
///
/// A value without I/O; bodies are elsewhere, under the same numbers.
struct CacheIndex {
  private struct Entry {
    var response: StoredResponse
    var lastUse: UInt64
  }

  /// Of heads and bodies, in bytes.
  let limit: Int
  private(set) var size = 0
  private var entries: [UInt64: Entry] = [:]
  private var idsByKey: [String: [UInt64]] = [:]
  /// Responses that are still on their way.
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

  /// A number for a response that has just been asked for.
  mutating func reserve(_ key: String) -> UInt64 {
    defer { nextID += 1 }
    reservations[nextID] = key
    return nextID
  }

  mutating func cancelReservation(_ id: UInt64) {
    reservations[id] = nil
  }

  /// A response is complete.
  /// - Returns: those whose bodies are to be deleted: the one it replaces, those that made room, or itself where it was
  ///   made doubtful while it was under way.
  mutating func insert(_ response: StoredResponse) -> [UInt64] {
    guard reservations.removeValue(forKey: response.id) != nil, response.size <= limit else { return [response.id] }
    let replaced = responses(for: response.key).filter { $0.selecting == response.selecting }.map(\.id)
    for id in replaced { forget(id) }
    put(response)
    return replaced + evict()
  }

  /// Takes in what an earlier process left.
  mutating func restore(_ response: StoredResponse) {
    nextID = max(nextID, response.id + 1)
    put(response)
  }

  /// A response has another head now.
  /// - Returns: `false` where it is no longer here.
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

  /// Forgets everything about a URL, also what is under way: it may be older than what made it doubtful.
  /// - Returns: those whose bodies are to be deleted.
  mutating func remove(_ key: String) -> [UInt64] {
    reservations = reservations.filter { $0.value != key }
    let ids = idsByKey[key, default: []]
    for id in ids { forget(id) }
    return ids
  }

  /// Forgets one response, and none that is stored for the same URL.
  /// - Returns: the response whose body is to be deleted, if the index had it.
  mutating func remove(_ id: UInt64) -> [UInt64] {
    guard entries[id] != nil else { return [] }
    forget(id)
    return [id]
  }

  mutating func removeAll() -> [UInt64] {
    let ids = Array(entries.keys)
    (entries, idsByKey, reservations, size) = ([:], [:], [:], 0)
    return ids
  }

  /// Down to nine tenths, so that not every response makes room for itself alone.
  mutating func evict() -> [UInt64] {
    guard size > limit else { return [] }
    var evicted: [UInt64] = []
    for (id, _) in entries.sorted(by: { $0.value.lastUse < $1.value.lastUse }) {
      if size <= limit / 10 * 9 { break }
      forget(id)
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

  private mutating func forget(_ id: UInt64) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    size -= entry.response.size
    idsByKey[entry.response.key]?.removeAll { $0 == id }
    if idsByKey[entry.response.key]?.isEmpty == true { idsByKey[entry.response.key] = nil }
  }
}

extension StoredResponse {
  /// What it takes, roughly: a cache of many small responses is not to be larger than it says.
  fileprivate var size: Int {
    let fields = fields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 64 }
    return length + key.utf8.count + fields + 256
  }
}
