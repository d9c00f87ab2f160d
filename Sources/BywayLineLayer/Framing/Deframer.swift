/// A splitter of received bytes at the zeros. A run between two zeros is a frame, or noise.
struct Deframer {
  /// The largest run in bytes. A longer one is not a frame, and is not stored.
  let limit: Int
  private var partial: [UInt8] = []
  private var isTooLong = false
  /// The last bytes of the latest run that was too long, for diagnosis.
  private(set) var tail: [UInt8] = []
  private static let longestTail = 512
  /// The bytes of runs that were too long. They are counted on arrival, because noise may never contain a zero.
  private(set) var skippedBytes: UInt64 = 0

  /// The bytes of the incomplete run.
  var heldBytes: Int { partial.count }

  init(limit: Int) {
    self.limit = limit
  }

  /// Returns the completed runs that are not empty; `nil` stands for a run that is too long.
  mutating func receive(_ bytes: UnsafeRawBufferPointer) -> [[UInt8]?] {
    var frames: [[UInt8]?] = []
    var start = 0
    while start < bytes.count {
      let end = bytes.firstZero(from: start, to: bytes.count)
      take(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
      guard end < bytes.count else { break }
      if isTooLong {
        frames.append(nil)
      } else if !partial.isEmpty {
        frames.append(partial)
      }
      reset()
      start = end &+ 1
    }
    return frames
  }

  /// Drops the incomplete run, because the line was interrupted.
  mutating func reset() {
    partial = []
    isTooLong = false
  }

  private mutating func take(_ run: UnsafeRawBufferPointer) {
    if isTooLong {
      skippedBytes += UInt64(run.count)
      keepTail(run)
    } else if partial.count + run.count > limit {
      skippedBytes += UInt64(partial.count + run.count)
      isTooLong = true
      tail = Array(partial.suffix(Self.longestTail))
      keepTail(run)
      partial = []
    } else {
      partial.append(contentsOf: run)
    }
  }

  private mutating func keepTail(_ run: UnsafeRawBufferPointer) {
    tail += run.suffix(Self.longestTail)
    if tail.count > Self.longestTail { tail.removeFirst(tail.count - Self.longestTail) }
  }
}
