/// Puts arriving units in order, and holds what is ahead of a gap, in one piece of memory as large as the window.
struct ReceiveWindow {
  enum Arrival: Equatable {
    /// The stream goes on with this; ``takeNext()`` has it.
    case inOrder
    /// Something before it is missing; `true` where that was not known yet.
    case ahead(isNewGap: Bool)
    /// All of it is here already.
    case duplicate
    /// More than was offered, or after the end.
    case refused
  }

  /// How many units have arrived before the first that has not.
  private(set) var position: UInt64 = 0
  /// Bytes that the reader has been given and has not consumed.
  private(set) var unread = 0
  private let capacity: Int
  /// How many units there are in the stream, once its last frame has arrived.
  private var end: UInt64?
  /// Units from ``position`` to the last that has arrived, where one is missing before it.
  private(set) var reach = 0
  /// A ring of slots, ``front`` that of ``position``: for each a unit, and its length plus one or 0 where it has not arrived. No
  /// memory until there is a gap.
  private var bytes: [UInt8] = []
  private var lengths: [UInt8] = []
  private var front = 0
  private var deliverable = Queue<ArraySlice<UInt8>>()

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// The number of the first unit that has not arrived.
  var next: UInt16 { UInt16(truncatingIfNeeded: position) }
  /// Units that can be taken from ``next`` on; and up to where.
  var window: Int { max(capacity - unread, 0) / Unit.size }
  var limit: UInt64 { position + UInt64(window) }
  var hasGap: Bool { reach > 0 }
  /// Bytes of memory for what is ahead.
  var heldMemory: Int { bytes.count + lengths.count }
  /// Everything up to the end of the last frame has arrived.
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

  /// Returns what has arrived; the nearest of it if a list of so many bytes cannot hold more.
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
      // There has to be room for the run that says that there is more.
      guard left >= (after < reach ? 2 : 0) else { break }
      arrivals.runs.append(arrived)
      start = after
    }
    return arrivals
  }

  // MARK: Admission

  private func accepts(_ units: Range<Int>, isEmpty: Bool, isLast: Bool) -> Bool {
    guard !isEmpty || isLast, units.upperBound <= window else { return false }
    let upper = position + UInt64(units.upperBound)
    if let end { return isLast ? upper == end : upper <= end }
    return !isLast || units.upperBound >= reach
  }

  // MARK: Units ahead of a gap

  private func slot(_ unit: Int) -> Int {
    let slot = front + unit
    return slot < lengths.count ? slot : slot - lengths.count
  }

  /// Returns the end of the units from `start` on that are held, or are not.
  private func run(from start: Int, isHeld: Bool) -> Int {
    var unit = start
    while unit < reach, (lengths[slot(unit)] != 0) == isHeld { unit += 1 }
    return unit
  }

  /// `false` where none of it is new. A unit that is here stays as it is.
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
