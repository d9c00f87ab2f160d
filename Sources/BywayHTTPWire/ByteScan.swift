/// Operations on eight bytes at a time, which the parsers apply to every received byte. They are inlinable, as is everything in
/// this module that runs for each byte or field: a call from another module would cost more than the work.
extension UInt64 {
  /// Whether one of the eight bytes is less than `limit`, at most 128.
  @inlinable package func hasByte(below limit: UInt8) -> Bool {
    (self &- 0x0101_0101_0101_0101 &* UInt64(limit)) & ~self & 0x8080_8080_8080_8080 != 0
  }

  /// The offset in memory of the first of the eight bytes that equals `byte`.
  @inlinable package func firstOffset(of byte: UInt8) -> Int? {
    let difference = littleEndian ^ 0x0101_0101_0101_0101 &* UInt64(byte)
    // A borrow may set the high bit of a later byte, never of an earlier one.
    let marks = (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    return marks == 0 ? nil : marks.trailingZeroBitCount / 8
  }

  /// Whether one of the eight bytes equals `byte`.
  @inlinable package func hasByte(_ byte: UInt8) -> Bool {
    (self ^ 0x0101_0101_0101_0101 &* UInt64(byte)).hasByte(below: 1)
  }

  /// The eight bytes, with upper-case ASCII letters changed to lower case.
  @inlinable var lowercasedASCII: UInt64 {
    let low = self & 0x7F7F_7F7F_7F7F_7F7F
    // The high bit of a byte is set in the first sum from "A" on, and in the second one after "Z".
    let isUpper = (low &+ 0x3F3F_3F3F_3F3F_3F3F) & ~(low &+ 0x2525_2525_2525_2525) & ~self & 0x8080_8080_8080_8080
    return self | isUpper >> 2
  }
}

extension UnsafeRawBufferPointer {
  /// The offset of the first such byte at or after `start`.
  @inlinable package func firstOffset(of byte: UInt8, from start: Int) -> Int? {
    var index = start
    while index + 8 <= count {
      let offset = loadUnaligned(fromByteOffset: index, as: UInt64.self).firstOffset(of: byte)
      if let offset { return index + offset }
      index += 8
    }
    while index < count {
      if self[index] == byte { return index }
      index += 1
    }
    return nil
  }

  /// Whether all bytes pass the test. Tests eight at a time. Tests single bytes if there are fewer, or if eight do not pass
  /// together.
  @inlinable package func allSatisfy(_ areGood: (UInt64) -> Bool, _ isGood: (UInt8) -> Bool) -> Bool {
    guard count >= 8 else { return isGoodEach(in: 0..<count, isGood) }
    var index = 0
    while index < count {
      // Some of the last eight may have been tested before.
      let place = Swift.min(index, count - 8)
      let word = loadUnaligned(fromByteOffset: place, as: UInt64.self)
      guard areGood(word) || isGoodEach(in: place..<place + 8, isGood) else { return false }
      index = place + 8
    }
    return true
  }

  @inlinable func isGoodEach(in range: Range<Int>, _ isGood: (UInt8) -> Bool) -> Bool {
    for index in range where !isGood(self[index]) { return false }
    return true
  }

  /// Whether the bytes are the characters of `text`.
  @inlinable package func equals(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    return equals(UnsafeRawPointer(text.utf8Start))
  }

  /// Whether the bytes equal those at `other`.
  @inlinable func equals(_ other: UnsafeRawPointer) -> Bool {
    guard count >= 8 else {
      guard count >= 4 else {
        for index in 0..<count where self[index] != other.load(fromByteOffset: index, as: UInt8.self) { return false }
        return true
      }
      return loadUnaligned(as: UInt32.self) == other.loadUnaligned(as: UInt32.self)
        && loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
          == other.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
    }
    var index = 0
    while index < count {
      // Some of the last eight may have been compared before.
      let place = Swift.min(index, count - 8)
      let word = loadUnaligned(fromByteOffset: place, as: UInt64.self)
      if word != other.loadUnaligned(fromByteOffset: place, as: UInt64.self) { return false }
      index = place + 8
    }
    return true
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the bytes equal those at `other`, which are lower case, ignoring the case of ASCII letters.
  @inlinable func equals(lowercased other: UnsafeRawPointer) -> Bool {
    guard count >= 8 else {
      for index in 0..<count {
        let byte = self[index]
        let lowered = byte &- 0x41 < 26 ? byte | 0x20 : byte
        if lowered != other.load(fromByteOffset: index, as: UInt8.self) { return false }
      }
      return true
    }
    var index = 0
    while index < count {
      // Some of the last eight may have been compared before.
      let place = Swift.min(index, count - 8)
      let word = loadUnaligned(fromByteOffset: place, as: UInt64.self).lowercasedASCII
      if word != other.loadUnaligned(fromByteOffset: place, as: UInt64.self) { return false }
      index = place + 8
    }
    return true
  }
}

extension UnsafeMutableRawPointer {
  /// Copies bytes to this place, with upper-case ASCII letters changed to lower case.
  func copyLowercased(_ bytes: UnsafeRawBufferPointer) {
    let count = bytes.count
    guard count >= 8 else {
      guard count >= 4 else {
        for index in 0..<count {
          let byte = bytes[index]
          storeBytes(of: byte &- 0x41 < 26 ? byte | 0x20 : byte, toByteOffset: index, as: UInt8.self)
        }
        return
      }
      let first = UInt64(bytes.loadUnaligned(as: UInt32.self))
      let last = UInt64(bytes.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
      let lowered = (first | last << 32).lowercasedASCII
      storeBytes(of: UInt32(truncatingIfNeeded: lowered), as: UInt32.self)
      storeBytes(of: UInt32(truncatingIfNeeded: lowered >> 32), toByteOffset: count - 4, as: UInt32.self)
      return
    }
    var index = 0
    while index < count {
      // Some of the last eight may have been copied before.
      let place = min(index, count - 8)
      let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
      storeBytes(of: word.lowercasedASCII, toByteOffset: place, as: UInt64.self)
      index = place + 8
    }
  }
}
