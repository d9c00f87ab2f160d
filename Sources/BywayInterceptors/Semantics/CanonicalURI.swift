import BywayHTTPWire
import BywayPrimitives

/// The canonical spelling of URIs that mean the same (RFC 3986 §6.2.2, §6.2.3; RFC 9110 §4.2.3).
enum CanonicalURI {
  /// Returns an authority without the default port. An invalid authority stays invalid, but without a password.
  static func authority(_ authority: String, scheme: String?) -> String {
    if let good = try? Authority(authority) { return good.text(for: scheme) }
    let (user, rest) = Authority.splitUser(authority[...])
    return (user == nil ? "" : "@") + rest
  }

  /// Returns a path and query with escapes in one form, everything escaped that must be, no dot segments, and never empty.
  static func path(_ path: String) -> String {
    // The asterisk means the server as a whole (RFC 9112 §3.2.4).
    if isPlain(path) || path == "*" { return path }
    let bytes = path.utf8.prefix { $0 != UInt8(ascii: "#") }
    let question = bytes.firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
    var result = removingDotSegments(from: percentNormal(bytes[..<question], isAllowed: isPathByte))
    if question < bytes.endIndex { result += percentNormal(bytes[question...], isAllowed: isPathByte) }
    return String(decoding: result, as: UTF8.self)
  }

  /// Whether a path is canonical already, by a quick check that suffices for most: no escapes, no fragment, nothing like a dot
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

  /// Returns an absolute path without dot segments (RFC 3986 §5.2.4).
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

  /// Decodes escapes of unreserved characters, writes the hexadecimal digits of others in upper case, and escapes what is not
  /// allowed. A percent sign that begins no escape stays, as its meaning is unknown. It must not begin an escape afterwards, with
  /// digits after it that were escaped: `%%32e` is not another spelling of `%2e`.
  private static func percentNormal(_ bytes: some Collection<UInt8>, isAllowed: (UInt8) -> Bool) -> [UInt8] {
    let bytes = Array(bytes)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    /// The number of following bytes that could become the digits of such a percent sign.
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

  /// Whether a byte may be in a path or query. Brackets should not, but so many queries have them that servers expect them.
  private static func isPathByte(_ byte: UInt8) -> Bool {
    switch byte {
    case ...0x20, 0x7F..., UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
      UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
      false
    default: true
    }
  }
}
