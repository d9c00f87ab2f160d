extension UnsafeRawBufferPointer {
  /// Returns the index of the first zero, eight bytes at a time; `end` if there is none.
  func firstZero(from start: Int, to end: Int) -> Int {
    var index = start
    while index &+ 8 <= end {
      let word = loadUnaligned(fromByteOffset: index, as: UInt64.self)
      // The highest bit of a byte stays set only if the byte is zero or follows a zero.
      if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 != 0 { break }
      index &+= 8
    }
    while index < end, self[index] != 0 { index &+= 1 }
    return index
  }
}
