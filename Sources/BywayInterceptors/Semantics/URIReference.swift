/// A URI or a part of one, split according to RFC 3986 §4.1. A fragment is left out, as no request carries it.
package struct URIReference {
  package private(set) var scheme: String?
  package private(set) var authority: String?
  private(set) var path: String
  private(set) var query: String?

  /// Splits a text. Any text is a reference.
  package init(_ text: String) {
    var rest = text.utf8.prefix { $0 != UInt8(ascii: "#") }
    if let end = rest.firstIndex(where: { ":/?".utf8.contains($0) }), rest[end] == UInt8(ascii: ":"),
      Self.isScheme(rest[..<end])
    {
      scheme = String(decoding: rest[..<end], as: UTF8.self)
      rest = rest[rest.index(after: end)...]
    }
    if rest.starts(with: "//".utf8) {
      rest = rest.dropFirst(2)
      let end = rest.firstIndex { "/?".utf8.contains($0) } ?? rest.endIndex
      authority = String(decoding: rest[..<end], as: UTF8.self)
      rest = rest[end...]
    }
    let question = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
    path = String(decoding: rest[..<question], as: UTF8.self)
    query = question < rest.endIndex ? String(decoding: rest[question...].dropFirst(), as: UTF8.self) : nil
  }

  package var pathAndQuery: String { path + (query.map { "?" + $0 } ?? "") }

  /// Whether the bytes are a scheme (RFC 3986 §3.1).
  static func isScheme(_ bytes: some Collection<UInt8>) -> Bool {
    guard let first = bytes.first, (first | 0x20) &- 0x61 < 26 else { return false }
    return bytes.allSatisfy { ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || "+-.".utf8.contains($0) }
  }
}
