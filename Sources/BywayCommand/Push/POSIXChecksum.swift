/// The checksum of cksum(1), which every POSIX system has: a CRC of 32 bits over the bytes and their number.
enum POSIXChecksum {
  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index) << 24) { value, _ in value & 0x8000_0000 != 0 ? value << 1 ^ 0x04C1_1DB7 : value << 1 }
  }

  /// Returns what `cksum` prints for its standard input: the checksum and the number of bytes.
  static func text(_ bytes: some Collection<UInt8>) -> String {
    var value = bytes.reduce(0, update)
    var count = bytes.count
    while count > 0 {
      value = update(value, UInt8(truncatingIfNeeded: count))
      count >>= 8
    }
    return "\(~value) \(bytes.count)"
  }

  private static func update(_ value: UInt32, _ byte: UInt8) -> UInt32 {
    value << 8 ^ table[Int(UInt8(truncatingIfNeeded: value >> 24) ^ byte)]
  }
}
