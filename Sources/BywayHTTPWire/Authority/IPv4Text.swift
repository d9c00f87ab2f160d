/// The text form of IPv4 addresses.
enum IPv4Text {
  /// Parses four decimal numbers. Leading zeros are refused, because some programs read them as octal.
  static func read(_ bytes: UnsafeRawBufferPointer) -> UInt32? {
    var address: UInt32 = 0
    var parts = 0
    var start = 0
    for end in 0...bytes.count where end == bytes.count || bytes[end] == UInt8(ascii: ".") {
      let part = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
      guard part.count <= 3, part.count == 1 || part.first != UInt8(ascii: "0"),
        let number = FieldGrammar.length(part), number <= 255
      else { return nil }
      address = address << 8 | UInt32(number)
      parts += 1
      if parts > 4 { return nil }
      start = end + 1
    }
    return parts == 4 ? address : nil
  }

  static func write(_ address: UInt32) -> String {
    "\(address >> 24).\(address >> 16 & 255).\(address >> 8 & 255).\(address & 255)"
  }
}
