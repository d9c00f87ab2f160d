/// The Castagnoli checksum (RFC 3720 §12.1, polynomial 0x1EDC6F41 reflected), eight bytes at a time.
package struct CRC32C {
  /// The checksum before the final inversion.
  private var state: UInt32 = 0xFFFF_FFFF

  package var value: UInt32 { ~state }

  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    state = CRC32C.tables.withUnsafeBufferPointer { tables in
      var state = state
      var index = 0
      while index &+ 8 <= bytes.count {
        let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) ^ UInt64(state)
        // Each table accounts for the bytes that follow its byte in the word.
        let low =
          tables[7 &* 256 &+ Int(word & 0xFF)] ^ tables[6 &* 256 &+ Int(word >> 8 & 0xFF)]
          ^ tables[5 &* 256 &+ Int(word >> 16 & 0xFF)] ^ tables[4 &* 256 &+ Int(word >> 24 & 0xFF)]
        let high =
          tables[3 &* 256 &+ Int(word >> 32 & 0xFF)] ^ tables[2 &* 256 &+ Int(word >> 40 & 0xFF)]
          ^ tables[256 &+ Int(word >> 48 & 0xFF)] ^ tables[Int(word >> 56)]
        state = low ^ high
        index &+= 8
      }
      while index < bytes.count {
        state = tables[Int((state ^ UInt32(bytes[index])) & 0xFF)] ^ (state >> 8)
        index &+= 1
      }
      return state
    }
  }

  /// Adds the eight bytes of a number in network byte order.
  mutating func update(bigEndian word: UInt64) {
    withUnsafeBytes(of: word.bigEndian) { update($0) }
  }

  package init() {}

  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// Eight tables of 256 entries. Table n has the effect of a byte on the checksum n bytes later.
  private static let tables: [UInt32] = {
    var tables = [UInt32](repeating: 0, count: 8 * 256)
    for byte in 0..<256 {
      var remainder = UInt32(byte)
      for _ in 0..<8 { remainder = remainder & 1 == 0 ? remainder >> 1 : remainder >> 1 ^ 0x82F6_3B78 }
      tables[byte] = remainder
    }
    for index in 256..<tables.count {
      let previous = tables[index - 256]
      tables[index] = tables[Int(previous & 0xFF)] ^ (previous >> 8)
    }
    return tables
  }()
}
