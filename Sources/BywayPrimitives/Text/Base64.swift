/// Base 64 (RFC 4648 §4).
package enum Base64 {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// The values of digits, 0 to 63, or 255 for other bytes.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
    return values
  }()

  package static func isDigit(_ byte: UInt8) -> Bool { values[Int(byte)] < 64 }

  package static func encode(_ bytes: some Collection<UInt8>, padded: Bool = true) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var pending: UInt32 = 0
    var bits = 0
    for byte in bytes {
      pending = pending << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        text.append(digits[Int(pending >> UInt32(bits) & 63)])
      }
    }
    if bits > 0 { text.append(digits[Int(pending << UInt32(6 - bits) & 63)]) }
    while padded, text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns `nil` for anything that an encoder would not have written.
  package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3)
    var pending: UInt32 = 0
    var bits = 0
    var padding = 0
    for digit in text {
      if digit == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      let value = values[Int(digit)]
      guard value < 64, padding == 0 else { return nil }
      pending = pending << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(bits)))
      }
    }
    guard padding <= 2, padding * 2 == bits, pending & (1 << UInt32(bits) - 1) == 0 else { return nil }
    return bytes
  }
}
