/// Bytes that have left the transmitter, in order, with the time of arrival of each. A ``LineFault`` changes them.
///
/// It counts its changes.
public struct WireBytes: Sendable {
  /// The values of the bytes.
  public private(set) var values: [UInt8]
  /// The times of arrival in nanoseconds, one for each value.
  public private(set) var times: [UInt64]
  var counters: LineCounters

  /// Creates bytes with as many times of arrival, for tests of a fault.
  public init(_ values: [UInt8] = [], times: [UInt64] = []) {
    self.values = values
    self.times = times
    counters = LineCounters()
  }

  /// The number of bytes.
  public var count: Int { values.count }
  /// Whether there are no bytes.
  public var isEmpty: Bool { values.isEmpty }

  /// Inverts the bits of the mask in a byte.
  public mutating func flip(_ mask: UInt8, at index: Int) {
    values[index] ^= mask
    counters.flippedBits += mask.nonzeroBitCount
  }

  /// Delays a byte until this time at least.
  public mutating func delay(at index: Int, until time: UInt64) {
    times[index] = max(times[index], time)
  }

  /// Drops the bytes at these indices, which ascend.
  public mutating func remove(at indices: [Int]) {
    replace(at: indices) { _, _ in [] }
    counters.dropped += indices.count
  }

  /// Duplicates the bytes at these indices, which ascend.
  public mutating func duplicate(at indices: [Int]) {
    replace(at: indices) { byte, _ in [byte, byte] }
    counters.duplicated += indices.count
  }

  /// Inserts a byte before each of these indices, which ascend.
  public mutating func insert(_ bytes: [UInt8], before indices: [Int]) {
    replace(at: indices) { byte, turn in [bytes[turn], byte] }
    counters.inserted += indices.count
  }

  /// Replaces all bytes by those that a receiver at another rate reads. The difference in number counts as inserted or dropped.
  mutating func replaceAll(by other: WireBytes) {
    if other.count > count {
      counters.inserted += other.count - count
    } else {
      counters.dropped += count - other.count
    }
    counters.framingErrors += other.counters.framingErrors
    values = other.values
    times = other.times
  }

  mutating func countFramingError() {
    counters.framingErrors += 1
  }

  /// Counts all bytes as inserted.
  mutating func countInserted() {
    counters.inserted += count
  }

  mutating func append(_ bytes: some Collection<UInt8>, times moments: [UInt64]) {
    values.append(contentsOf: bytes)
    times.append(contentsOf: moments)
  }

  private mutating func replace(at indices: [Int], with replacement: (UInt8, _ turn: Int) -> [UInt8]) {
    guard !indices.isEmpty else { return }
    var newValues: [UInt8] = []
    var newTimes: [UInt64] = []
    newValues.reserveCapacity(count + indices.count)
    newTimes.reserveCapacity(count + indices.count)
    var copied = 0
    for (turn, index) in indices.enumerated() {
      newValues.append(contentsOf: values[copied..<index])
      newTimes.append(contentsOf: times[copied..<index])
      let bytes = replacement(values[index], turn)
      newValues.append(contentsOf: bytes)
      newTimes.append(contentsOf: repeatElement(times[index], count: bytes.count))
      copied = index + 1
    }
    newValues.append(contentsOf: values[copied...])
    newTimes.append(contentsOf: times[copied...])
    values = newValues
    times = newTimes
  }
}
