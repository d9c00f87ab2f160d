/// Bytes in transit to the reader, each with the time from which it can be read.
struct ArrivalQueue: Sendable {
  private var values: [UInt8] = []
  private var times: [UInt64] = []
  private var head = 0

  var count: Int { values.count - head }
  var first: UInt64? { head < times.count ? times[head] : nil }

  /// - Parameter batch: the interval at which the adapter delivers bytes, in nanoseconds; 0 for at once.
  mutating func append(_ bytes: WireBytes, batch: UInt64) {
    compact()
    values.append(contentsOf: bytes.values)
    times.reserveCapacity(values.count)
    var last = times.last ?? 0
    for time in bytes.times {
      // A line never reorders bytes, even if a fault has changed the times.
      last = max(last, time.roundedUp(to: batch))
      times.append(last)
    }
  }

  var last: UInt64? { head < times.count ? times.last : nil }

  mutating func take(atMost limit: Int, by time: UInt64) -> [UInt8] {
    let count = min(limit, arrived(by: time))
    defer { head += count }
    return Array(values[head..<head + count])
  }

  /// Drops arrived bytes beyond a limit, and returns their number.
  mutating func overrun(beyond limit: Int, by time: UInt64) -> Int {
    let arrived = arrived(by: time)
    guard arrived > limit else { return 0 }
    values.removeSubrange(head + limit..<head + arrived)
    times.removeSubrange(head + limit..<head + arrived)
    return arrived - limit
  }

  mutating func removeAll() {
    values.removeAll()
    times.removeAll()
    head = 0
  }

  private func arrived(by time: UInt64) -> Int {
    var low = head
    var high = times.count
    while low < high {
      let middle = (low + high) / 2
      if times[middle] <= time { low = middle + 1 } else { high = middle }
    }
    return low - head
  }

  private mutating func compact() {
    guard head > 4096, head > values.count / 2 else {
      if head == values.count { removeAll() }
      return
    }
    values.removeFirst(head)
    times.removeFirst(head)
    head = 0
  }
}

extension UInt64 {
  /// Returns the next multiple of a step, or the number itself if the step is 0.
  func roundedUp(to step: UInt64) -> UInt64 {
    step > 0 ? (self + step - 1) / step * step : self
  }
}
