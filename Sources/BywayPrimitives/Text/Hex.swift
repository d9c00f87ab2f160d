/// Bytes and numbers as hexadecimal digits.
package enum Hex {
  package static func digit(_ value: UInt8, isUppercase: Bool = false) -> UInt8 {
    value < 10 ? 0x30 + value : (isUppercase ? 0x41 : 0x61) + value - 10
  }

  package static func isDigit(_ byte: UInt8) -> Bool {
    byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6
  }

  /// Returns two digits for each byte.
  package static func text(_ bytes: some Sequence<UInt8>, isUppercase: Bool = false) -> String {
    String(
      decoding: bytes.flatMap { [digit($0 >> 4, isUppercase: isUppercase), digit($0 & 15, isUppercase: isUppercase)] },
      as: UTF8.self)
  }

  /// Returns all the digits that a number of its width can have: eight for a `UInt32`.
  package static func text(_ number: some FixedWidthInteger & UnsignedInteger) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: number.bitWidth / 4 - digits.utf8.count) + digits
  }

  /// Returns the byte that two digits stand for.
  package static func byte(_ digits: some Collection<UInt8>) -> UInt8? {
    guard digits.count == 2 else { return nil }
    var result: UInt8 = 0
    for digit in digits {
      let lowered = digit | 0x20
      switch (digit, lowered) {
      case (0x30...0x39, _): result = result << 4 | (digit - 0x30)
      case (_, 0x61...0x66): result = result << 4 | (lowered - 0x61 + 10)
      default: return nil
      }
    }
    return result
  }

  /// Returns the bytes that digits stand for; `nil` if one is not a digit, or half a byte is left.
  package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      guard let byte = byte(rest.prefix(2)) else { return nil }
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    return bytes
  }
}
