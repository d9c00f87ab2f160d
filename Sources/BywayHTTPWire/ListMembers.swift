import BywayPrimitives

/// The members of a comma-separated list (RFC 9110 §5.6.1). Commas inside quoted strings do not separate members, and empty
/// members do not count.
package struct ListMembers: Sequence, IteratorProtocol {
  private var rest: Substring.UTF8View

  package init(_ list: String) {
    rest = list.utf8[...]
  }

  package mutating func next() -> String? {
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
  /// The content of a quoted string (RFC 9110 §5.6.4); a token is its own content.
  package var unquoted: String {
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

  /// The text as a quoted string.
  package var quoted: String {
    "\"" + String(flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }) + "\""
  }
}
