/// The state of a unit in a window: its length and three flags, in one byte.
struct Slot {
  private var bits: UInt8 = 0

  /// Returns the state of a unit that has arrived.
  static func arrived(length: Int) -> Slot { Slot(bits: 0x80 | UInt8(truncatingIfNeeded: length)) }

  init() {}

  private init(bits: UInt8) {
    self.bits = bits
  }

  /// 0 to 16 bytes.
  var length: Int { Int(bits & 0x1F) }
  var hasArrived: Bool { bits & 0x80 != 0 }
  var isOnTheWay: Bool { bits & 0x20 != 0 }
  var isAcknowledged: Bool { bits & 0x40 != 0 }
  /// Whether the unit is neither in flight nor acknowledged.
  var isToSend: Bool { bits & 0x60 == 0 }

  mutating func extend(by count: Int) { bits &+= UInt8(truncatingIfNeeded: count) }
  mutating func send() { bits |= 0x20 }
  mutating func lose() { bits &= ~0x20 }
  mutating func acknowledge() { bits |= 0x40 }
}
