import BywayHTTPWire

/// `chunk-size [ chunk-ext ]` (RFC 9112 §7.1). Extensions are checked and dropped.
enum ChunkHeader {
  static func size(of line: UnsafeRawBufferPointer) throws(HTTP1Failure) -> Int {
    var size = 0
    var end = 0
    while end < line.count, let digit = hexadecimalValue(line[end]) {
      // One more digit could reach the sign bit.
      guard size >> 59 == 0 else { throw .tooLarge("The size of a chunk is too large for this machine.", status: 413) }
      size = size << 4 | digit
      end += 1
    }
    guard end > 0 else { throw .malformed("A chunk does not begin with its size.") }
    if end == line.count { return size }

    // White space is allowed before a semicolon (§7.1.1) and nowhere else. Recipients that read "5 6" as 5 would disagree with
    // those that do not.
    let rest = FieldGrammar.trim(UnsafeRawBufferPointer(rebasing: line[end...]))
    guard rest.first == UInt8(ascii: ";"), FieldGrammar.isFieldText(rest) else {
      throw .malformed("Something other than an extension follows the size of a chunk.")
    }
    return size
  }

  private static func hexadecimalValue(_ byte: UInt8) -> Int? {
    if byte &- 0x30 < 10 { return Int(byte &- 0x30) }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? Int(letter) + 10 : nil
  }
}
