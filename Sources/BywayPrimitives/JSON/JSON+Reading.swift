extension JSON {
  /// The limit of nesting: deeper than anything that is read here, and a bound for the stack that a hostile text can use.
  fileprivate static let depthLimit = 32

  /// Returns `nil` if the text is not JSON, or is nested deeper than 32 values.
  package init?(parsing text: String) {
    var reader = JSONReader(text)
    guard let value = reader.value(depth: 0), reader.isAtEnd else { return nil }
    self = value
  }
}

private struct JSONReader {
  private let bytes: [UInt8]
  private var index = 0

  init(_ text: String) {
    bytes = Array(text.utf8)
  }

  var isAtEnd: Bool {
    mutating get {
      skipSpace()
      return index == bytes.count
    }
  }

  mutating func value(depth: Int) -> JSON? {
    skipSpace()
    guard index < bytes.count, depth < JSON.depthLimit else { return nil }
    switch bytes[index] {
    case UInt8(ascii: "{"): return object(depth)
    case UInt8(ascii: "["): return array(depth)
    case UInt8(ascii: "\""): return string().map { .string($0) }
    case UInt8(ascii: "t"): return take("true") ? .bool(true) : nil
    case UInt8(ascii: "f"): return take("false") ? .bool(false) : nil
    case UInt8(ascii: "n"): return take("null") ? .null : nil
    default: return number()
    }
  }

  private mutating func object(_ depth: Int) -> JSON? {
    index += 1
    var members: [JSON.Member] = []
    if take("}") { return .object(members) }
    repeat {
      skipSpace()
      guard let name = string(), take(":"), let value = value(depth: depth + 1) else { return nil }
      members.append(JSON.Member(name, value))
    } while take(",")
    return take("}") ? .object(members) : nil
  }

  private mutating func array(_ depth: Int) -> JSON? {
    index += 1
    var elements: [JSON] = []
    if take("]") { return .array(elements) }
    repeat {
      guard let value = value(depth: depth + 1) else { return nil }
      elements.append(value)
    } while take(",")
    return take("]") ? .array(elements) : nil
  }

  private mutating func number() -> JSON? {
    let start = index
    skip("-")
    // A number does not begin with a superfluous zero.
    guard skip("0") || skipDigits() else { return nil }
    if skip("."), !skipDigits() { return nil }
    if skip("e") || skip("E") {
      if !skip("+") { skip("-") }
      guard skipDigits() else { return nil }
    }
    return .number(String(decoding: bytes[start..<index], as: UTF8.self))
  }

  /// Skips a character if it comes next.
  @discardableResult
  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  private mutating func skipDigits() -> Bool {
    let start = index
    while index < bytes.count, Self.isDigit(bytes[index]) { index += 1 }
    return start < index
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  private mutating func string() -> String? {
    guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
    index += 1
    var units: [UInt16] = []
    var plain = index
    func flush(_ end: Int) { units += String(decoding: bytes[plain..<end], as: UTF8.self).utf16 }
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        flush(index)
        index += 1
        return String(decoding: units, as: UTF16.self)
      case UInt8(ascii: "\\"):
        flush(index)
        guard let unit = escape() else { return nil }
        units.append(unit)
        plain = index
      case 0..<0x20: return nil
      default: index += 1
      }
    }
    return nil
  }

  private mutating func escape() -> UInt16? {
    guard index + 1 < bytes.count else { return nil }
    let letter = bytes[index + 1]
    index += 2
    switch letter {
    case UInt8(ascii: "n"): return 10
    case UInt8(ascii: "t"): return 9
    case UInt8(ascii: "r"): return 13
    case UInt8(ascii: "b"): return 8
    case UInt8(ascii: "f"): return 12
    case UInt8(ascii: "u"):
      guard index + 4 <= bytes.count else { return nil }
      defer { index += 4 }
      let digits = bytes[index..<(index + 4)]
      // The conversion would accept a sign.
      guard digits.first != UInt8(ascii: "+"), digits.first != UInt8(ascii: "-") else { return nil }
      return UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UInt16(letter)
    default: return nil
    }
  }

  /// Skips a word if it comes next.
  private mutating func take(_ word: StaticString) -> Bool {
    skipSpace()
    let word = UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard bytes[index...].starts(with: word) else { return false }
    index += word.count
    return true
  }

  private mutating func skipSpace() {
    while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
  }
}
