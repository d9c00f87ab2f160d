/// Values that are made once for each key, found quickest where the same is asked for again and again.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// With so many keys nothing more is told apart: whoever asks might be filling the memory.
  private static var limit: Int { 1000 }

  private var last: (key: Key, value: Value)?
  private var all: [Key: Value] = [:]

  /// - Parameter make: told whether there are too many keys; what it makes then is not kept.
  mutating func value(for key: Key, _ make: (_ isFull: Bool) -> Value) -> Value {
    if let known = value(for: key) { return known }
    if all.count >= Self.limit { return make(true) }
    let value = make(false)
    all[key] = value
    last = (key, value)
    return value
  }

  /// - Returns: `nil` where it was not made yet, or not kept.
  mutating func value(for key: Key) -> Value? {
    if last?.key == key { return last?.value }
    guard let value = all[key] else { return nil }
    last = (key, value)
    return value
  }
}
