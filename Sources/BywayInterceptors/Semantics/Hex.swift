/// Bytes as hexadecimal digits.
enum Hex {
  static func digit(_ value: UInt8, isUppercase: Bool = false) -> UInt8 {
    value < 10 ? 0x30 + value : (isUppercase ? 0x41 : 0x61) + value - 10
  }

  static func isDigit(_ byte: UInt8) -> Bool {
    byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6
  }

  /// In lower case.
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.flatMap { [digit($0 >> 4), digit($0 & 15)] }, as: UTF8.self)
  }

  /// The byte that two digits stand for.
  static func byte(_ digits: some Collection<UInt8>) -> UInt8? {
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
}
