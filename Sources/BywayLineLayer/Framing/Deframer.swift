/// Cuts received bytes into runs at the zeros. A run may be a frame or noise.
struct Deframer {
  /// Bytes of a frame, as received: what is longer cannot be one, and costs no memory.
  let limit: Int
  private var partial: [UInt8] = []
  private var isTooLong = false
  /// The end of the last run that was too long, for who wants to know what it was.
  private(set) var tail: [UInt8] = []
  private static let longestTail = 512
  /// Bytes of runs that were too long, counted as they come: noise may have no end.
  private(set) var skippedBytes: UInt64 = 0

  /// Bytes of a frame that is not complete.
  var heldBytes: Int { partial.count }

  init(limit: Int) {
    self.limit = limit
  }

  /// Returns the completed runs that are not empty, with `nil` for each that is too long.
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

  /// Forgets the run that was begun, because the line was interrupted.
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
