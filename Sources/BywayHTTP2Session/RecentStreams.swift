import BywayHTTPWire

/// The numbers of the streams that ended most recently.
struct RecentStreams {
  private var ids: [StreamID] = []
  private var oldest = 0
  /// The highest number that was dropped.
  private(set) var horizon: StreamID = 0

  private static let capacity = 256

  /// Searches all numbers linearly. Only rare frames need this.
  func contains(_ id: StreamID) -> Bool {
    ids.contains(id)
  }

  mutating func insert(_ id: StreamID) {
    if ids.count < Self.capacity { return ids.append(id) }
    horizon = max(horizon, ids[oldest])
    ids[oldest] = id
    oldest = (oldest + 1) % Self.capacity
  }
}
