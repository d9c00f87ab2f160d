import Primitives

/// JSON as it stands in a record: perhaps cut off, perhaps no JSON at all. The work grows with the length only.
struct JSONText {
  /// Strings in strings. Text that is wrapped more often than that hides something.
  private static let depthLimit = 6

  private let isSecret: (String) -> Bool
  /// The text of a string, changed; `nil` where it has no secret and is not JSON.
  private let changedText: (ArraySlice<UInt8>) -> [UInt8]?

  /// Puts ``Trace/Redaction/mark`` in the place of every value, whatever it is, whose name is a secret's.
  /// - Parameters:
  ///   - isSecret: of a member's name.
  ///   - changedText: what else may be in a string, of XML for example.
  /// - Returns: `nil` where there is none.
  static func replacing(
    in bytes: [UInt8], where isSecret: @escaping (String) -> Bool,
    changedText: @escaping (ArraySlice<UInt8>) -> [UInt8]? = { _ in nil }
  ) -> [UInt8]? {
    JSONText(isSecret: isSecret, changedText: changedText).changed(bytes, depth: 0)
  }

  private func changed(_ bytes: [UInt8], depth: Int) -> [UInt8]? {
    var result: [UInt8] = []
    var copied = 0
    func replace(_ range: Range<Int>, with new: some Collection<UInt8>) {
      result += bytes[copied..<range.lowerBound]
      result += new
      copied = range.upperBound
    }
    var index = 0
    while let start = bytes[index...].firstIndex(of: UInt8(ascii: "\"")) {
      let end = Self.endOfString(bytes, from: start)
      let isClosed = end - start > 1 && end <= bytes.count && bytes[end - 1] == UInt8(ascii: "\"")
      let content = bytes[(start + 1)..<max(start + 1, isClosed ? end - 1 : end)]
      index = end
      // A string is a name where a colon follows.
      let value = bytes[end...].firstIndex { !" \t\r\n:".utf8.contains($0) } ?? bytes.count
      let isName = bytes[end..<value].contains(UInt8(ascii: ":"))
      if let new = changedContent(content, depth: depth) { replace(content.startIndex..<content.endIndex, with: new) }
      guard isName, value < bytes.count, isSecret(Self.name(content)) else { continue }
      index = Self.endOfValue(bytes, from: value)
      replace(value..<index, with: "\"\(Trace.Redaction.mark)\"".utf8)
    }
    if copied == 0 { return nil }
    result += bytes[copied...]
    return result
  }

  /// A string may hold a text of its own, JSON again for example.
  private func changedContent(_ content: ArraySlice<UInt8>, depth: Int) -> [UInt8]? {
    let mayBeJSON = Self.hasEscapedQuote(content)
    guard mayBeJSON || content.contains(UInt8(ascii: "<")) || content.contains(UInt8(ascii: "\\")) else { return nil }
    let plain = JSONEscapes.decoded(content)
    if mayBeJSON {
      guard depth < Self.depthLimit else { return Array(Trace.Redaction.mark.utf8) }
      if let new = changed(plain, depth: depth + 1) { return JSONEscapes.encoded(new) }
    }
    return changedText(plain[...]).map(JSONEscapes.encoded)
  }

  private static func hasEscapedQuote(_ content: ArraySlice<UInt8>) -> Bool {
    var index = content.startIndex
    while let slash = content[index...].firstIndex(of: UInt8(ascii: "\\")), slash + 1 < content.endIndex {
      if content[slash + 1] == UInt8(ascii: "\"") || content[slash...].starts(with: "\\u0022".utf8) { return true }
      index = slash + 2
    }
    return false
  }

  /// An escape may hide it (RFC 8259 §7).
  private static func name(_ content: ArraySlice<UInt8>) -> String {
    String(decoding: content.contains(UInt8(ascii: "\\")) ? JSONEscapes.decoded(content)[...] : content, as: UTF8.self)
  }

  private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
    var index = start + 1
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\"") { return index + 1 }
      index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return bytes.count
  }

  /// Of a string, a number, or everything in an object or array.
  private static func endOfValue(_ bytes: [UInt8], from start: Int) -> Int {
    var depth = 0
    var index = start
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        index = endOfString(bytes, from: index)
        if depth == 0 { return index }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth <= 1 { return depth == 0 ? index : index + 1 }
        depth -= 1
      case UInt8(ascii: ",") where depth == 0:
        return index
      default: break
      }
      index += 1
    }
    return bytes.count
  }
}
