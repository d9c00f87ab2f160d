/// The usual spelling of field names. Their case has no meaning (RFC 9110 §5.1), but some devices and programs compare it.
///
/// Each word of a name starts with a capital letter. The words in a table are spelled as in their specifications.
package enum FieldCapitalization {
  /// Returns the usual spelling of a lower-case name: `ETag`, `WWW-Authenticate`, `X-Serial`.
  package static func usual(_ name: String) -> String {
    var bytes = Array(name.utf8)
    bytes.withUnsafeMutableBytes { apply(to: $0) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Changes a lower-case name to its usual spelling, in place.
  package static func apply(to name: UnsafeMutableRawBufferPointer) {
    var start = 0
    for index in 0...name.count where index == name.count || name[index] == UInt8(ascii: "-") {
      applyToWord(UnsafeMutableRawBufferPointer(rebasing: name[start..<index]))
      start = index + 1
    }
  }

  private static func applyToWord(_ word: UnsafeMutableRawBufferPointer) {
    if let spelling = words.first(where: { FieldGrammar.equal($0, word) }) {
      for index in 0..<word.count { word[index] = spelling.utf8Start[index] }
    } else if let first = word.first, first &- 0x61 < 26 {
      word[0] = first & 0xDF
    }
  }

  private static let words: [StaticString] = [
    "API", "CDN", "CH", "CSP", "CSRF", "CT", "DAV", "DNS", "DNT", "DPR", "DPoP", "ECT", "ETag", "GPC", "HTTP", "HTTP2",
    "ID", "IM", "IP", "MD5", "MIME", "NEL", "NT", "NTS", "OData", "P3P", "RTT", "RateLimit", "SID", "SOAPAction",
    "SourceMap", "TE", "UA", "URI", "URL", "USN", "WWW", "WebKit", "WebSocket", "WoW64", "XSRF", "XSS",
  ]
}

extension FieldGrammar {
  /// Compares two names, ignoring the case of ASCII letters.
  fileprivate static func equal(_ text: StaticString, _ word: UnsafeMutableRawBufferPointer) -> Bool {
    guard text.utf8CodeUnitCount == word.count else { return false }
    for index in 0..<word.count where text.utf8Start[index].loweredASCII != word[index].loweredASCII { return false }
    return true
  }
}
