/// Cuts the bytes of a line into the messages of a medium.
///
/// A message ends with a frame where possible, so a lost message damages no frame that others carry in part.
struct MessageCutter {
  private let limit: Int
  private(set) var pending: [UInt8] = []

  /// - Parameter limit: the most bytes of a message.
  init(limit: Int) {
    self.limit = limit
  }

  /// The number of bytes that may be added.
  var room: Int { max(0, limit - pending.count) }

  mutating func add(_ bytes: some Collection<UInt8>) {
    pending += bytes
  }

  /// The next message: all whole frames, or the first bytes of a frame that is not whole. `nil` without bytes.
  var next: ArraySlice<UInt8>? {
    guard !pending.isEmpty else { return nil }
    let fitting = pending.prefix(limit)
    // A zero ends each frame (COBS).
    guard let end = fitting.lastIndex(of: 0) else { return fitting }
    return fitting[...end]
  }

  /// Removes bytes that the medium has taken.
  mutating func remove(_ count: Int) {
    pending.removeFirst(count)
  }
}
