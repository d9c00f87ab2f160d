/// Puts arriving frames in order, and holds what is ahead of a gap.
struct ReceiveWindow {
  private struct Held {
    let payload: ArraySlice<UInt8>
    let isLast: Bool
  }

  enum Arrival: Equatable {
    /// The stream goes on with this; ``takeNext()`` has it.
    case inOrder
    /// Something before it is missing; `true` where that was not known yet.
    case ahead(isNewGap: Bool)
    /// It is here already.
    case duplicate
    /// More than was offered, or after the end.
    case refused
  }

  /// The number of the first frame that has not arrived.
  private(set) var next: UInt16 = 0
  /// Everything up to the last frame has arrived.
  private(set) var isFinished = false
  /// Bytes that the reader has been given and has not consumed.
  private(set) var unread = 0
  private let capacity: Int
  /// Index n is frame `next + n`; the first is missing whenever there is one.
  private var slots = Queue<Held?>()
  /// Bytes that are ahead of a gap.
  private(set) var heldBytes = 0
  private var deliverable = Queue<ArraySlice<UInt8>>()

  init(capacity: Int) {
    self.capacity = capacity
  }

  /// Bytes of payload that can be taken from ``next`` on.
  var window: Int { max(capacity - unread, 0) }
  var slotCount: Int { slots.count }
  var hasGap: Bool { !slots.isEmpty }

  mutating func receive(number: UInt16, payload: ArraySlice<UInt8>, isLast: Bool) -> Arrival {
    let index = Int(number &- next)
    guard index <= FrameCodec.largestReport else {
      return index > Int(UInt16.max) / 2 ? .duplicate : .refused
    }
    if index < slots.count, slots[index] != nil { return .duplicate }
    guard !isFinished, heldBytes + payload.count <= window else { return .refused }
    let isNewGap = index > slots.count
    while slots.count <= index { slots.append(nil) }
    slots[index] = Held(payload: payload, isLast: isLast)
    heldBytes += payload.count
    guard index == 0 else { return .ahead(isNewGap: isNewGap) }
    advance()
    return .inOrder
  }

  mutating func takeNext() -> ArraySlice<UInt8>? { deliverable.popFirst() }

  mutating func consumed(_ count: Int) {
    unread = max(unread - count, 0)
  }

  /// Which frames beyond ``next`` have arrived, as ``Acknowledgement/arrived`` has it.
  var arrived: [UInt8] {
    guard slots.count > 1 else { return [] }
    let count = min(slots.count - 1, FrameCodec.largestReport)
    var bits = [UInt8](repeating: 0, count: (count + 7) / 8)
    for bit in 0..<count where slots[bit + 1] != nil { bits[bit >> 3] |= 1 << (bit & 7) }
    return bits
  }

  private mutating func advance() {
    while !slots.isEmpty, let held = slots[0] {
      _ = slots.popFirst()
      next &+= 1
      heldBytes -= held.payload.count
      unread += held.payload.count
      if !held.payload.isEmpty { deliverable.append(held.payload) }
      if held.isLast {
        isFinished = true
        return
      }
    }
  }
}
