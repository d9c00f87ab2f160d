import HTTPWire
import Primitives

/// One spelling for all those that mean the same (RFC 3986 §6.2.2, §6.2.3; RFC 9110 §4.2.3).
enum CanonicalURI {
  /// Without the default port. What is not an authority stays none, and keeps nothing of a password in it.
  static func authority(_ authority: String, scheme: String?) -> String {
    if let good = try? Authority(authority) { return good.text(for: scheme) }
    let (user, rest) = Authority.splitUser(authority[...])
    return (user == nil ? "" : "@") + rest
  }

  /// Path and query: escapes in one form, what may not stand unescaped escaped, no dot segments, never empty.
  static func path(_ path: String) -> String {
    // The asterisk is the server as a whole (RFC 9112 §3.2.4).
    if isPlain(path) || path == "*" { return path }
    let bytes = path.utf8.prefix { $0 != UInt8(ascii: "#") }
    let question = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
    var result = removingDotSegments(from: percentNormal(bytes[..<question], isAllowed: isPathByte))
    if question < bytes.endIndex { result += percentNormal(bytes[question...], isAllowed: isPathByte) }
    return String(decoding: result, as: UTF8.self)
  }

  /// Most paths have their one spelling already, and can be told at a glance: no escapes, no fragment, nothing like a dot
  /// segment.
  private static func isPlain(_ path: String) -> Bool {
    guard path.utf8.first == UInt8(ascii: "/") else { return false }
    var previous: UInt8 = 0
    var isQuery = false
    for byte in path.utf8 {
      switch byte {
      case UInt8(ascii: "%"), UInt8(ascii: "#"): return false
      case UInt8(ascii: ".") where previous == UInt8(ascii: "/") && !isQuery: return false
      case UInt8(ascii: "?"): isQuery = true
      default: if !isPathByte(byte) { return false }
      }
      previous = byte
    }
    return true
  }

  /// RFC 3986 §5.2.4. An absolute path in any case.
  static func removingDotSegments(from path: [UInt8]) -> [UInt8] {
    let dot = [UInt8(ascii: ".")]
    var kept: [ArraySlice<UInt8>] = []
    var endsInFolder = true
    let absolute = path.first == UInt8(ascii: "/") ? path.dropFirst() : path[...]
    for segment in absolute.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      endsInFolder = true
      if segment.elementsEqual(dot) { continue }
      if segment.elementsEqual(dot + dot) {
        _ = kept.popLast()
      } else {
        kept.append(segment)
        endsInFolder = false
      }
    }
    if endsInFolder { kept.append([]) }
    return kept.reduce(into: []) { result, segment in
      result.append(UInt8(ascii: "/"))
      result += segment
    }
  }

  /// Escapes of unreserved characters undone, the hexadecimal digits of others in upper case, and what is not allowed
  /// escaped. A percent sign that begins no escape stays: nobody knows what it was meant to be. Nor may it begin one
  /// afterwards, with digits that stood escaped behind it: `%%32e` is not an other spelling of `%2e`.
  private static func percentNormal(_ bytes: some Collection<UInt8>, isAllowed: (UInt8) -> Bool) -> [UInt8] {
    let bytes = Array(bytes)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    /// How many of the bytes that follow such a percent sign could become its digits.
    var loose = 0
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      loose -= 1
      if byte == UInt8(ascii: "%"), let value = Hex.byte(bytes[index...].prefix(2)) {
        index += 2
        if PercentEncoding.isUnreserved(value), loose < 0 || !Hex.isDigit(value) {
          result.append(value)
        } else {
          PercentEncoding.append(value, to: &result)
        }
      } else if byte == UInt8(ascii: "%") || isAllowed(byte) {
        if byte == UInt8(ascii: "%") { loose = 2 }
        result.append(byte)
      } else {
        PercentEncoding.append(byte, to: &result)
      }
    }
    return result
  }

  /// What may stand in a path or query; brackets should not, but so many queries have them that servers expect them.
  private static func isPathByte(_ byte: UInt8) -> Bool {
    switch byte {
    case ...0x20, 0x7F..., UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
      UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
      false
    default: true
    }
  }
}
