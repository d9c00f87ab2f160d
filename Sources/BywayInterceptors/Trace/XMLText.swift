/// XML in a record: perhaps cut off, perhaps not XML at all. The work is proportional to the length.
struct XMLText {
  private let bytes: [UInt8]
  private let isSecret: (String) -> Bool
  private var index = 0
  private var result: [UInt8] = []
  private var copied = 0
  /// Whether the previous element has named a secret, which is in the next one: `<name>password</name><value>…</value>`.
  private var isAnnounced = false

  /// Replaces the content of elements, and the values of attributes, whose names are those of secrets by ``Trace/Redaction/mark``.
  /// Prefixes do not count.
  /// - Returns: `nil` if there is no secret.
  static func replacing(in bytes: [UInt8], where isSecret: @escaping (String) -> Bool) -> [UInt8]? {
    var text = XMLText(bytes: bytes, isSecret: isSecret)
    return text.changed()
  }

  private init(bytes: [UInt8], isSecret: @escaping (String) -> Bool) {
    self.bytes = bytes
    self.isSecret = isSecret
  }

  private mutating func changed() -> [UInt8]? {
    while let start = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
      index = start
      guard let tag = takeTag() else { continue }
      guard tag.kind == .opening else {
        // Only the next element can have the announced value.
        if tag.kind == .closing, !["name", "key"].contains(tag.name) { isAnnounced = false }
        continue
      }
      if isSecretElement(tag) {
        isAnnounced = false
        replaceContent()
      } else if ["name", "key"].contains(tag.name) {
        let end = bytes[index...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
        isAnnounced = isSecret(String(decoding: bytes[index..<end], as: UTF8.self).lowercased())
      }
    }
    if copied == 0 { return nil }
    result += bytes[copied...]
    return result
  }

  private func isSecretElement(_ tag: Tag) -> Bool {
    isAnnounced || tag.namesSecret || tag.name != "key" && isSecret(tag.name)
  }

  private mutating func replace(_ range: Range<Int>) {
    result += bytes[copied..<range.lowerBound]
    result += Trace.Redaction.mark.utf8
    copied = range.upperBound
  }

  /// Replaces everything up to the end of the element that has just begun.
  private mutating func replaceContent() {
    let start = index
    var depth = 1
    var end = bytes.count
    while depth > 0 {
      guard let next = bytes[index...].firstIndex(of: UInt8(ascii: "<")) else {
        index = bytes.count
        break
      }
      index = next
      switch takeTag(isShown: false)?.kind {
      case .opening: depth += 1
      case .closing: depth -= 1
      case .empty, nil: break
      }
      if depth == 0 { end = next }
    }
    if start < end { replace(start..<end) }
  }

  // MARK: Tags

  private struct Tag {
    enum Kind { case opening, closing, empty }

    var kind: Kind
    /// The name without its prefix, in lower case.
    let name: String
    /// Whether an attribute names a secret: `<entry key="password">`.
    var namesSecret = false
  }

  /// Reads what begins here.
  /// - Parameter isShown: Whether to replace secrets among its attributes.
  /// - Returns: `nil` if it is not a tag.
  private mutating func takeTag(isShown: Bool = true) -> Tag? {
    let rest = bytes[index...]
    for (opening, closing) in Self.others where rest.starts(with: opening.utf8) {
      index += opening.utf8.count
      skip(through: Array(closing.utf8))
      return nil
    }
    index += 1
    let isClosing = index < bytes.count && bytes[index] == UInt8(ascii: "/")
    if isClosing { index += 1 }
    let name = takeName()
    guard !name.isEmpty else { return nil }
    var tag = Tag(kind: isClosing ? .closing : .opening, name: name)
    var values: [(range: Range<Int>, isSecret: Bool)] = []
    defer {
      for value in values where isShown && (value.isSecret || tag.namesSecret) { replace(value.range) }
    }
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: ">"):
        if bytes[index - 1] == UInt8(ascii: "/") { tag.kind = .empty }
        index += 1
        return tag
      case UInt8(ascii: "<"):
        // The text before was not a tag.
        return nil
      case let byte where Self.isName(byte):
        takeAttribute(&tag, &values)
      default: index += 1
      }
    }
    return tag
  }

  private static let others = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]

  private mutating func takeAttribute(_ tag: inout Tag, _ values: inout [(range: Range<Int>, isSecret: Bool)]) {
    let isSpace = bytes[index...].starts(with: "xmlns".utf8)
    let name = takeName()
    skipSpace()
    guard index < bytes.count, bytes[index] == UInt8(ascii: "=") else { return }
    index += 1
    skipSpace()
    guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'") else { return }
    let quote = bytes[index]
    let start = index + 1
    let end = bytes[start...].firstIndex(of: quote) ?? bytes.count
    index = min(end + 1, bytes.count)
    if isSpace { return }
    if ["name", "key", "id"].contains(name) {
      if isSecret(String(decoding: bytes[start..<end], as: UTF8.self).lowercased()) { tag.namesSecret = true }
    } else if name == "value" || isSecret(name) {
      values.append((start..<end, name != "value"))
    }
  }

  private mutating func takeName() -> String {
    let start = index
    while index < bytes.count, Self.isName(bytes[index]) { index += 1 }
    let name = bytes[start..<index]
    let local = name.lastIndex(of: UInt8(ascii: ":")).map { name[($0 + 1)...] } ?? name
    return String(decoding: local, as: UTF8.self).lowercased()
  }

  private static func isName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"),
      0x80...:
      true
    default: false
    }
  }

  private mutating func skipSpace() {
    while index < bytes.count, " \t\r\n".utf8.contains(bytes[index]) { index += 1 }
  }

  private mutating func skip(through end: [UInt8]) {
    while let next = bytes[index...].firstIndex(of: end[0]) {
      index = next
      if bytes[index...].starts(with: end) {
        index += end.count
        return
      }
      index += 1
    }
    index = bytes.count
  }
}
