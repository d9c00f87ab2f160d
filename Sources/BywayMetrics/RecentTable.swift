/// Values created once for each key, with the fastest look-up for a repeated key.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A key and its value in one object, so that a look-up retains nothing of the key.
  private final class Entry: Sendable {
    let key: Key
    let value: Value

    init(_ key: Key, _ value: Value) {
      self.key = key
      self.value = value
    }
  }

  /// The maximum number of keys. Further ones share a value, because clients could fill the memory.
  private let limit: Int

  private var last: Entry?
  private var all: [Key: Entry] = [:]

  init(limit: Int = 1000) {
    self.limit = limit
  }

  /// - Parameter make: creates the value, given whether there are too many keys; such a value is not kept.
  mutating func value(for key: Key, _ make: (_ isFull: Bool) -> Value) -> Value {
    if let known = value(for: key) { return known }
    if all.count >= limit { return make(true) }
    let entry = Entry(key, make(false))
    all[key] = entry
    last = entry
    return entry.value
  }

  /// - Returns: the value of the previous look-up, if its key is the right one.
  func last(where isRight: (Key) -> Bool) -> Value? {
    guard let last, isRight(last.key) else { return nil }
    return last.value
  }

  /// - Returns: `nil` if it does not exist, or was not kept.
  mutating func value(for key: Key) -> Value? {
    if let last, last.key == key { return last.value }
    guard let entry = all[key] else { return nil }
    last = entry
    return entry.value
  }
}
