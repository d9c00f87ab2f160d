/// Bytes that are written as `%` and two digits (RFC 3986 §2.1).
package enum PercentEncoding {
  /// Whether a byte is unreserved (RFC 3986 §2.3).
  package static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10
    }
  }

  /// Appends an escape in upper case, which is the usual form (§6.2.2.1).
  package static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "%"))
    bytes.append(Hex.digit(byte >> 4, isUppercase: true))
    bytes.append(Hex.digit(byte & 15, isUppercase: true))
  }

  /// - Parameter isPlain: Whether a byte needs no escape; `%` should need one.
  package static func encode(_ text: String, isPlain: (UInt8) -> Bool) -> String {
    var result: [UInt8] = []
    for byte in text.utf8 {
      if isPlain(byte) { result.append(byte) } else { append(byte, to: &result) }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// Returns `nil` if an escape is invalid, or the result is not UTF-8.
  package static func decode(_ text: some StringProtocol) -> String? {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    var result: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte != UInt8(ascii: "%") {
        result.append(byte)
      } else if let value = Hex.byte(rest.prefix(2)) {
        result.append(value)
        rest = rest.dropFirst(2)
      } else {
        return nil
      }
    }
    return String(validating: result, as: UTF8.self)
  }
}
