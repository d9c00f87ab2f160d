/// The buffers of received transfers, which are delivered in the order in which they were started.
struct TransferRing {
  private enum Slot {
    case idle
    case receiving
    case filled(Range<Int>)
  }

  private var slots: [Slot]
  private var head = 0

  init(count: Int) {
    slots = Array(repeating: .idle, count: count)
  }

  /// The bytes to deliver next: the slot and the range in its buffer. `nil` if the oldest transfer is not complete.
  var next: (slot: Int, range: Range<Int>)? {
    guard case .filled(let range) = slots[head] else { return nil }
    return (head, range)
  }

  mutating func started(_ slot: Int) {
    slots[slot] = .receiving
  }

  mutating func filled(_ slot: Int, count: Int) {
    slots[slot] = .filled(0..<count)
  }

  /// Removes delivered bytes.
  /// - Returns: the slot, if it is empty and can receive again.
  mutating func delivered(_ count: Int) -> Int? {
    guard case .filled(let range) = slots[head] else { return nil }
    let rest = range.dropFirst(count)
    guard rest.isEmpty else {
      slots[head] = .filled(rest)
      return nil
    }
    defer { head = (head + 1) % slots.count }
    slots[head] = .idle
    return head
  }
}
