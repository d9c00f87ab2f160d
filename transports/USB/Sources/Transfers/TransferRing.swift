/// The buffers of received transfers, which are delivered in the order in which they were started.
struct TransferRing {
  /// The undelivered bytes of each complete transfer.
  private var slots: [Range<Int>?]
  private var head = 0

  init(count: Int) {
    slots = Array(repeating: nil, count: count)
  }

  /// The bytes to deliver next: the slot and the range in its buffer. `nil` if the oldest transfer is not complete.
  var next: (slot: Int, range: Range<Int>)? { slots[head].map { (head, $0) } }

  mutating func filled(_ slot: Int, count: Int) {
    slots[slot] = 0..<count
  }

  /// Removes delivered bytes.
  /// - Returns: the slot, if it is empty and can receive again.
  mutating func delivered(_ count: Int) -> Int? {
    guard let rest = slots[head]?.dropFirst(count) else { return nil }
    guard rest.isEmpty else {
      slots[head] = rest
      return nil
    }
    defer { head = (head + 1) % slots.count }
    slots[head] = nil
    return head
  }
}
