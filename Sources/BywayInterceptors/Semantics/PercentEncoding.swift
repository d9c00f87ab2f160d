/// Bytes that stand as `%` and two digits (RFC 3986 §2.1).
enum PercentEncoding {
  /// `nil` where an escape is none, or the result is not UTF-8.
  static func decode(_ text: some StringProtocol) -> String? {
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
