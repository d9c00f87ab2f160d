/// Values that are made once for each key, found quickest where the same is asked for again and again.
struct RecentTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// With so many keys nothing more is told apart: whoever asks might be filling the memory.
  private static var limit: Int { 1000 }

  private var last: (key: Key, value: Value)?
  private var all: [Key: Value] = [:]

  /// - Parameter make: told whether there are too many keys; what it makes then is not kept.
  mutating func value(for key: Key, _ make: (_ isFull: Bool) -> Value) -> Value {
    if let last, last.key == key { return last.value }
    let isFull = all.count >= Self.limit
    guard let value = all[key] ?? (isFull ? nil : make(false)) else { return make(true) }
    all[key] = value
    last = (key, value)
    return value
  }
}
