/// Chooses the stream of the next DATA frame.
///
/// Streams with lower urgency values go first (RFC 9218 §4.1). Within one urgency, the stream that has sent least goes next. So
/// all streams advance alike, incremental or not, and a small response overtakes a long one. nghttp2's own queue serves streams
/// without an `i` parameter one after another, so one upload would block all others.
///
/// Does not retain the streams: a stream must be removed before it is released.
struct StreamScheduler {
  private var levels = [Level](repeating: Level(), count: Urgency.levels)
  /// A bit mask of the levels that are not empty: bit n for level n.
  private var occupied: UInt8 = 0

  var isEmpty: Bool { occupied == 0 }

  mutating func insert(_ stream: HTTP2Stream) {
    guard stream.turn != .scheduled else { return }
    stream.turn = .scheduled
    let level = Int(stream.urgency.rawValue)
    levels[level].insert(stream)
    occupied |= 1 << UInt8(level)
  }

  /// Removes and returns the stream whose turn it is.
  mutating func next() -> HTTP2Stream? {
    guard occupied != 0 else { return nil }
    let level = occupied.trailingZeroBitCount
    let stream = levels[level].popFirst()
    if levels[level].isEmpty { occupied &= ~(1 << UInt8(level)) }
    stream?.turn = .none
    return stream
  }

  /// Adds sent bytes to the stream's account.
  mutating func charge(_ stream: HTTP2Stream, _ byteCount: Int) {
    levels[Int(stream.urgency.rawValue)].clock = stream.share
    stream.share += UInt64(byteCount)
  }

  /// Removes a stream that ended, or whose urgency is about to change.
  mutating func remove(_ stream: HTTP2Stream) {
    guard stream.turn == .scheduled else { return }
    stream.turn = .none
    let level = Int(stream.urgency.rawValue)
    levels[level].remove(stream)
    if levels[level].isEmpty { occupied &= ~(1 << UInt8(level)) }
  }
}

extension StreamScheduler {
  /// The streams of one urgency: a binary heap ordered by bytes sent, then by arrival.
  private struct Level {
    private struct Entry {
      let share: UInt64
      let order: UInt64
      let stream: Unmanaged<HTTP2Stream>

      static func < (left: Entry, right: Entry) -> Bool {
        (left.share, left.order) < (right.share, right.order)
      }
    }

    private var heap: [Entry] = []
    private var order: UInt64 = 0
    /// The share of the stream served last. A new stream starts here instead of at zero. Otherwise it would be served alone
    /// until it caught up with streams that are hours old.
    var clock: UInt64 = 0

    var isEmpty: Bool { heap.isEmpty }

    mutating func insert(_ stream: HTTP2Stream) {
      stream.share = max(stream.share, clock)
      order += 1
      heap.append(Entry(share: stream.share, order: order, stream: .passUnretained(stream)))
      var child = heap.count - 1
      while child > 0 {
        let parent = (child - 1) / 2
        guard heap[child] < heap[parent] else { break }
        heap.swapAt(child, parent)
        child = parent
      }
    }

    mutating func popFirst() -> HTTP2Stream? {
      guard let last = heap.popLast() else { return nil }
      guard let first = heap.first else { return last.stream.takeUnretainedValue() }
      heap[0] = last
      var parent = 0
      while true {
        var child = 2 * parent + 1
        guard child < heap.count else { break }
        if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
        guard heap[child] < heap[parent] else { break }
        heap.swapAt(child, parent)
        parent = child
      }
      return first.stream.takeUnretainedValue()
    }

    mutating func remove(_ stream: HTTP2Stream) {
      let gone = Unmanaged.passUnretained(stream).toOpaque()
      heap.removeAll { $0.stream.toOpaque() == gone }
      // This is rare, and a sorted array is a heap.
      heap.sort(by: <)
    }
  }
}
