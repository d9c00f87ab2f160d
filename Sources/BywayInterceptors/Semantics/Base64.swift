/// Bytes as text (RFC 4648 §4), padded.
enum Base64 {
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    var result: [UInt8] = []
    var word: UInt32 = 0
    var count = 0
    for byte in bytes {
      word = word << 8 | UInt32(byte)
      count += 1
      if count == 3 {
        append(word, digits: 4, to: &result)
        (word, count) = (0, 0)
      }
    }
    if count > 0 {
      append(word << UInt32(8 * (3 - count)), digits: count + 1, to: &result)
      result += Array(repeating: UInt8(ascii: "="), count: 3 - count)
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func append(_ word: UInt32, digits: Int, to result: inout [UInt8]) {
    for index in 0..<digits {
      let value = UInt8(word >> UInt32(18 - 6 * index) & 63)
      let character: UInt8 =
        switch value {
        case 0..<26: 0x41 + value
        case 26..<52: 0x61 + value - 26
        case 52..<62: 0x30 + value - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
      result.append(character)
    }
  }
}
