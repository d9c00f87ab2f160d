/// The received units of a stream in order. It keeps units after a gap in one ring buffer of the size of the window.
struct ReceiveWindow {
  enum Arrival: Equatable {
    /// The units continue the stream; ``takeNext()`` returns them.
    case inOrder
    /// Units before these are missing. `isNewGap`: this gap was not known before.
    case ahead(isNewGap: Bool)
    /// All units have already arrived.
    case duplicate
    /// The units exceed the window or the end of the stream.
    case refused
  }

  /// The number of units before the first missing one.
  private(set) var position: UInt64 = 0
  /// The bytes that the reader has got and not consumed.
  private(set) var unread = 0
  private let capacity: Int
  /// The number of units in the stream, once its last frame has arrived.
  private var end: UInt64?
  /// The units from ``position`` to the last that has arrived after a gap; 0 without a gap.
  private(set) var reach = 0
  /// The ring buffer, with the unit at ``position`` in slot ``front``. The length of a unit is stored plus one, and 0 means missing. The
  /// memory is allocated at the first gap.
  private var bytes: [UInt8] = []
  private var lengths: [UInt8] = []
  private var front = 0
  private var deliverable = Queue<ArraySlice<UInt8>>()

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// The number of the first missing unit.
  var next: UInt16 { UInt16(truncatingIfNeeded: position) }
  /// The number of units from ``next`` on that this end accepts.
  var window: Int { max(capacity - unread, 0) / Unit.size }
  var limit: UInt64 { position + UInt64(window) }
  var hasGap: Bool { reach > 0 }
  /// The bytes of memory for units after a gap.
  var heldMemory: Int { bytes.count + lengths.count }
  /// Whether everything up to the end of the stream has arrived.
  var isFinished: Bool { end == position }

  mutating func receive(number: UInt16, payload: ArraySlice<UInt8>, isLast: Bool) -> Arrival {
    let start = Unit.distance(from: next, to: number)
    let units = start..<(start + Unit.count(payload.count))
    guard units.upperBound > 0 else { return .duplicate }
    guard accepts(units, isEmpty: payload.isEmpty, isLast: isLast) else { return .refused }
    if isLast { end = position + UInt64(units.upperBound) }
    if units.lowerBound <= 0, reach == 0 {
      deliver(payload.dropFirst(-units.lowerBound * Unit.size), units: units.upperBound)
      return .inOrder
    }
    let isNewGap = units.lowerBound > reach
    guard hold(payload, units) else { return .duplicate }
    reach = max(reach, units.upperBound)
    guard units.lowerBound <= 0 else { return .ahead(isNewGap: isNewGap) }
    advance()
    return .inOrder
  }

  mutating func takeNext() -> ArraySlice<UInt8>? { deliverable.popFirst() }

  mutating func consumed(_ count: Int) {
    unread = max(unread - count, 0)
  }

  /// Returns the units that have arrived. A list that would exceed this many bytes is cut at its end.
  func arrivals(within length: Int) -> Arrivals {
    var arrivals = Arrivals(next: next)
    var left = length
    var start = 0
    while start < reach {
      let held = run(from: start, isHeld: false)
      let after = run(from: held, isHeld: true)
      let missing = UInt16(held - start)
      let arrived = UInt16(after - held)
      arrivals.runs.append(missing)
      left -= Arrivals.length(of: missing) + Arrivals.length(of: arrived)
      // Keeps room for the run that marks the list as incomplete.
      guard left >= (after < reach ? 2 : 0) else { break }
      arrivals.runs.append(arrived)
      start = after
    }
    return arrivals
  }

  // MARK: Checks

  private func accepts(_ units: Range<Int>, isEmpty: Bool, isLast: Bool) -> Bool {
    guard !isEmpty || isLast, units.upperBound <= window else { return false }
    let upper = position + UInt64(units.upperBound)
    if let end { return isLast ? upper == end : upper <= end }
    return !isLast || units.upperBound >= reach
  }

  // MARK: Units after a gap

  private func slot(_ unit: Int) -> Int {
    let slot = front + unit
    return slot < lengths.count ? slot : slot - lengths.count
  }

  /// Returns the end of the run of units from `start` on that are all here, or all missing.
  private func run(from start: Int, isHeld: Bool) -> Int {
    var unit = start
    while unit < reach, (lengths[slot(unit)] != 0) == isHeld { unit += 1 }
    return unit
  }

  /// Stores units. `false` if none is new. A unit that is stored already stays unchanged.
  private mutating func hold(_ payload: ArraySlice<UInt8>, _ units: Range<Int>) -> Bool {
    if lengths.isEmpty {
      let slots = capacity / Unit.size
      bytes = [UInt8](repeating: 0, count: slots * Unit.size)
      lengths = [UInt8](repeating: 0, count: slots)
    }
    var hasNew = false
    for unit in max(units.lowerBound, 0)..<units.upperBound {
      let slot = slot(unit)
      guard lengths[slot] == 0 else { continue }
      let start = payload.startIndex + (unit - units.lowerBound) * Unit.size
      let piece = payload[min(start, payload.endIndex)..<min(start + Unit.size, payload.endIndex)]
      lengths[slot] = UInt8(piece.count + 1)
      bytes.replaceSubrange(slot * Unit.size..<slot * Unit.size + piece.count, with: piece)
      hasNew = true
    }
    return hasNew
  }

  private mutating func advance() {
    let count = run(from: 0, isHeld: true)
    var piece: [UInt8] = []
    piece.reserveCapacity(count * Unit.size)
    for _ in 0..<count {
      let start = front * Unit.size
      piece.append(contentsOf: bytes[start..<(start + Int(lengths[front]) - 1)])
      lengths[front] = 0
      front = slot(1)
    }
    reach -= count
    deliver(piece[...], units: count)
  }

  private mutating func deliver(_ piece: ArraySlice<UInt8>, units: Int) {
    position += UInt64(units)
    unread += piece.count
    if !piece.isEmpty { deliverable.append(piece) }
  }
}
