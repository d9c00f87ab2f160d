/// A cache of the most recently used values, up to a limit.
package struct RecentlyUsed<Key: Hashable, Value> {
  private struct Entry {
    var value: Value
    var use: UInt64
  }

  private let limit: Int
  private var entries: [Key: Entry] = [:]
  private var uses: UInt64 = 0

  /// - Parameter limit: at least 1.
  package init(limit: Int) {
    self.limit = max(limit, 1)
  }

  package var values: [Value] { entries.values.map(\.value) }

  package mutating func value(for key: Key) -> Value? {
    uses += 1
    entries[key]?.use = uses
    return entries[key]?.value
  }

  /// - Returns: the value that was replaced or evicted: the key's old value, or the least recently used one.
  package mutating func insert(_ value: Value, for key: Key) -> Value? {
    uses += 1
    var gone = entries.updateValue(Entry(value: value, use: uses), forKey: key)
    // A linear search: limits are small, and this is rare compared with the cost of the values.
    if entries.count > limit, let oldest = entries.min(by: { $0.value.use < $1.value.use }) {
      gone = entries.removeValue(forKey: oldest.key)
    }
    return gone?.value
  }

  package mutating func removeAll() {
    entries = [:]
  }
}
