/// The members of a comma-separated list (RFC 9110 §5.6.1): commas inside quoted strings separate nothing, empty
/// members do not count.
struct ListMembers: Sequence, IteratorProtocol {
  private var rest: Substring.UTF8View

  init(_ list: String) {
    rest = list.utf8[...]
  }

  mutating func next() -> String? {
    while !rest.isEmpty {
      let end = endOfMember
      let member = String(decoding: rest[..<end], as: UTF8.self).trimmed
      rest = rest[end...].dropFirst()
      if !member.isEmpty { return member }
    }
    return nil
  }

  private var endOfMember: Substring.UTF8View.Index {
    var isQuoted = false
    var isEscaped = false
    for index in rest.indices {
      switch rest[index] {
      case _ where isEscaped: isEscaped = false
      case UInt8(ascii: "\\") where isQuoted: isEscaped = true
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: ",") where !isQuoted: return index
      default: break
      }
    }
    return rest.endIndex
  }
}

extension String {
  /// Without the spaces and tabs at both ends.
  var trimmed: String {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    guard let first = utf8.first, let last = utf8.last, isBlank(first) || isBlank(last) else { return self }
    let bytes = Array(utf8.drop(while: isBlank))
    let end = bytes.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? 0
    return String(decoding: bytes[..<end], as: UTF8.self)
  }

  /// What a quoted string says (RFC 9110 §5.6.4); a token says itself.
  var unquoted: String {
    guard utf8.count >= 2, utf8.first == UInt8(ascii: "\""), utf8.last == UInt8(ascii: "\"") else { return self }
    var result: [UInt8] = []
    var isEscaped = false
    for byte in utf8.dropFirst().dropLast() {
      if byte == UInt8(ascii: "\\"), !isEscaped {
        isEscaped = true
      } else {
        result.append(byte)
        isEscaped = false
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// As a quoted string.
  var quoted: String {
    "\"" + String(flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }) + "\""
  }
}
