/// Values created once for each key, with the fastest look-up for a repeated key.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// The maximum number of keys. Further ones share a value, because clients could fill the memory.
  private static var limit: Int { 1000 }

  private var last: (key: Key, value: Value)?
  private var all: [Key: Value] = [:]

  /// - Parameter make: creates the value, given whether there are too many keys; such a value is not kept.
  mutating func value(for key: Key, _ make: (_ isFull: Bool) -> Value) -> Value {
    if let known = value(for: key) { return known }
    if all.count >= Self.limit { return make(true) }
    let value = make(false)
    all[key] = value
    last = (key, value)
    return value
  }

  /// - Returns: `nil` if it does not exist, or was not kept.
  mutating func value(for key: Key) -> Value? {
    if last?.key == key { return last?.value }
    guard let value = all[key] else { return nil }
    last = (key, value)
    return value
  }
}
