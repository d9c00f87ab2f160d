import BywayPrimitives

/// JSON in a record: perhaps cut off, perhaps not JSON at all. The work is proportional to the length.
struct JSONText {
  /// The limit of strings within strings. Text that is nested deeper hides something.
  private static let depthLimit = 6

  private let isSecret: (String) -> Bool
  /// Returns a changed text of a string; `nil` if it has no secret and is not JSON.
  private let changedText: (ArraySlice<UInt8>) -> [UInt8]?

  /// Replaces every value, of any kind, whose name is that of a secret by ``Trace/Redaction/mark``.
  /// - Parameters:
  ///   - isSecret: Whether a member's name is that of a secret.
  ///   - changedText: Replaces secrets in a string with another format, such as XML.
  /// - Returns: `nil` if there is no secret.
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
      // A string is a name if a colon follows.
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

  /// Replaces secrets in a string that contains another text, such as JSON.
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

  /// Returns a name without escapes, which may hide it (RFC 8259 §7).
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

  /// Returns the end of a string, a number, or a whole object or array.
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
