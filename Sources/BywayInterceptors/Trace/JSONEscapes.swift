import BywayPrimitives

/// The content of JSON strings, with escapes and without (RFC 8259 §7). An invalid escape stays as it is.
enum JSONEscapes {
  static func decoded(_ content: ArraySlice<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(content.count)
    var rest = content
    while let slash = rest.firstIndex(of: UInt8(ascii: "\\")) {
      result += rest[..<slash]
      rest = rest[(slash + 1)...]
      guard let letter = rest.popFirst() else {
        result.append(UInt8(ascii: "\\"))
        break
      }
      switch letter {
      case UInt8(ascii: "b"): result.append(0x08)
      case UInt8(ascii: "f"): result.append(0x0C)
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "u"): result += character(&rest)
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): result.append(letter)
      default: result += [UInt8(ascii: "\\"), letter]
      }
    }
    return result + rest
  }

  /// Reads the digits after `\u`, and the second half of a character that has two.
  private static func character(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
    guard let first = unit(rest) else { return Array("\\u".utf8) }
    rest = rest.dropFirst(4)
    var units = [first]
    if UTF16.isLeadSurrogate(first), rest.starts(with: "\\u".utf8), let second = unit(rest.dropFirst(2)),
      UTF16.isTrailSurrogate(second)
    {
      units.append(second)
      rest = rest.dropFirst(6)
    }
    return Array(String(decoding: units, as: UTF16.self).utf8)
  }

  private static func unit(_ bytes: ArraySlice<UInt8>) -> UInt16? {
    let digits = bytes.prefix(4)
    return digits.count == 4 ? UInt16(String(decoding: digits, as: UTF8.self), radix: 16) : nil
  }

  static func encoded(_ text: [UInt8]) -> [UInt8] {
    Array("\(JSON.string(String(decoding: text, as: UTF8.self)))".utf8.dropFirst().dropLast())
  }
}
