/// The units that have arrived. `read` is the first unread unit, `next` the first missing one, and `high` is after the last that has
/// arrived.
struct ReceiveWindow: ~Copyable {
  private(set) var read = UnitNumber(0)
  private(set) var next = UnitNumber(0)
  private(set) var high = UnitNumber(0)
  /// The end of the window that the peer was told, and the end of its stream if it is known.
  private(set) var edge = UnitNumber(0)
  private var end = UnitNumber(0)
  private(set) var hasEnd = false
  /// The number of bytes of the first unit that were read.
  private var offset: UInt8 = 0
  private var slots: Sizes.ReceiveUnits<Slot> = .init(repeating: Slot())
  private var bytes: Sizes.ReceiveUnits<InlineArray<16, UInt8>> = .init(repeating: .init(repeating: 0))

  mutating func begin() {
    read = UnitNumber(0)
    next = read
    high = read
    edge = UnitNumber(UInt16(Sizes.receiveUnits))
    hasEnd = false
    offset = 0
    slots = .init(repeating: Slot())
  }

  private static func index(_ number: UnitNumber) -> Int { Int(number.value) & (Sizes.receiveUnits - 1) }

  // MARK: - Arrivals

  /// Whether the whole stream of the peer has arrived.
  var isComplete: Bool { hasEnd && end == next }
  /// Whether the whole stream of the peer was read.
  var isRead: Bool { isComplete && read == next }
  var hasGap: Bool { high != next }

  /// Whether DATA from `number` up to `stop` is within the window and the stream.
  mutating func accepts(_ number: UnitNumber, to stop: UnitNumber, isLast: Bool) -> Bool {
    if stop.ahead(of: edge) > 0 || number.ahead(of: next) < -Unit.largestWindow { return false }
    if hasEnd { return isLast ? stop == end : stop.ahead(of: end) <= 0 }
    return !isLast || stop.ahead(of: high) >= 0
  }

  /// Stores the units of a payload that have not arrived before.
  /// - Returns: whether there was one.
  mutating func keep(_ frame: Span<UInt8>, from start: Int, _ number: UnitNumber, to stop: UnitNumber) -> Bool {
    if stop.ahead(of: high) > 0 { high = stop }
    var isNew = false
    var number = number
    var from = start
    repeat {
      let length = min(frame.count &- from, Unit.size)
      let index = Self.index(number)
      if number.ahead(of: next) >= 0, !slots[index].hasArrived {
        for at in 0..<length { bytes[index][at & 15] = frame[from &+ at] }
        slots[index] = .arrived(length: length)
        isNew = true
      }
      number = number + 1
      from &+= length
    } while from < frame.count
    return isNew
  }

  /// Notes the end of the peer's stream.
  mutating func close(_ stop: UnitNumber) {
    hasEnd = true
    end = stop
  }

  /// Moves `next` over the units that have arrived.
  mutating func deliver() {
    while next != high, slots[Self.index(next)].hasArrived { next = next + 1 }
  }

  // MARK: - Reading

  mutating func read(into target: inout MutableSpan<UInt8>, from start: Int, atMost count: Int) -> Int {
    var copied = 0
    free()
    while copied < count, read != next {
      let index = Self.index(read)
      let part = min(slots[index].length &- Int(offset), count &- copied)
      for _ in 0..<part {
        target[start &+ copied] = bytes[index][Int(offset & 15)]
        offset &+= 1
        copied &+= 1
      }
      free()
    }
    return copied
  }

  /// Drops all units that have arrived in order.
  mutating func drop() {
    while read != next {
      slots[Self.index(read)] = Slot()
      read = read + 1
    }
    offset = 0
  }

  /// Frees the units that were read, and empty ones.
  mutating func free() {
    while read != next, Int(offset) >= slots[Self.index(read)].length {
      slots[Self.index(read)] = Slot()
      read = read + 1
      offset = 0
    }
  }

  // MARK: - The window

  /// Whether the window must be sent again, because it has grown.
  var owesWindow: Bool {
    let left = edge.ahead(of: next)
    let more = (read + Sizes.receiveUnits).ahead(of: edge)
    return !hasEnd && left < Sizes.receiveUnits / 2 && more >= Sizes.receiveUnits / 4
  }

  /// Writes the fields of an acknowledgement: next, window and runs.
  mutating func report(to frame: inout OutgoingFrame) {
    edge = read + Sizes.receiveUnits
    frame.append(next.value)
    frame.append(edge.value &- next.value)
    var room = Runs.longestList
    var at = next
    while at != high {
      let missing = run(at, hasArrived: false)
      let arrived = run(at + missing, hasArrived: true)
      let after = run(at + (missing &+ arrived), hasArrived: false)
      frame.append(run: missing)
      room &-= Runs.size(missing)
      if Runs.size(arrived) &+ (after > 0 ? Runs.size(after) : 0) > room { break }
      frame.append(run: arrived)
      room &-= Runs.size(arrived)
      at = at + (missing &+ arrived)
    }
  }

  /// Returns the length of the run of units from a number on that have all arrived, or are all missing.
  @inline(never)
  private mutating func run(_ start: UnitNumber, hasArrived: Bool) -> Int {
    var number = start
    while number != high, slots[Self.index(number)].hasArrived == hasArrived { number = number + 1 }
    return number.count(from: start)
  }
}
