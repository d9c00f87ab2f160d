/// CRC-32C with a table of 16 entries, which takes 64 bytes of flash.
struct Checksum {
  private(set) var state: UInt32

  private static let table: InlineArray<16, UInt32> = [
    0x0000_0000, 0x105E_C76F, 0x20BD_8EDE, 0x30E3_49B1, 0x417B_1DBC, 0x5125_DAD3, 0x61C6_9362, 0x7198_540D,
    0x82F6_3B78, 0x92A8_FC17, 0xA24B_B5A6, 0xB215_72C9, 0xC38D_26C4, 0xD3D3_E1AB, 0xE330_A81A, 0xF36E_6F75,
  ]

  /// - Parameter state: the state of a checksum over earlier bytes.
  init(state: UInt32 = 0xFFFF_FFFF) {
    self.state = state
  }

  var value: UInt32 { ~state }

  @inline(never)
  mutating func add(_ bytes: Span<UInt8>) {
    var state = state
    for index in 0..<bytes.count { state = Self.next(state, bytes[unchecked: index]) }
    self.state = state
  }

  /// Adds a number in network byte order.
  mutating func add(_ number: UInt32) {
    var rest = number
    for _ in 0..<4 {
      state = Self.next(state, UInt8(truncatingIfNeeded: rest >> 24))
      rest <<= 8
    }
  }

  private static func next(_ state: UInt32, _ byte: UInt8) -> UInt32 {
    var state = state ^ UInt32(byte)
    state = state >> 4 ^ table[Int(state & 15)]
    return state >> 4 ^ table[Int(state & 15)]
  }
}
