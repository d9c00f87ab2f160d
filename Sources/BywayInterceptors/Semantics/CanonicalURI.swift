/// One spelling for all those that mean the same (RFC 3986 §6.2.2, §6.2.3; RFC 9110 §4.2.3).
enum CanonicalURI {
  /// Host and port in lower case, without user information, which HTTP has no place for, and without the default port.
  static func authority(_ authority: String, scheme: String?) -> String {
    if authority.utf8.allSatisfy(isPlainHostByte) { return authority }
    var rest = authority.utf8[...]
    if let at = rest.lastIndex(of: UInt8(ascii: "@")) { rest = rest[rest.index(after: at)...] }
    let (host, port) = split(rest)
    let name = percentNormal(host, isAllowed: { $0 > 0x20 && $0 < 0x7F }).map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }
    var result = String(decoding: name, as: UTF8.self)
    if let port, !port.isEmpty {
      let text = String(decoding: port, as: UTF8.self)
      if text != defaultPort(of: scheme) { result += ":" + text }
    }
    return result
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

  /// The port is `nil` where there is no colon.
  private static func split(_ authority: Substring.UTF8View) -> (host: Substring.UTF8View, port: Substring.UTF8View?) {
    guard let colon = authority.lastIndex(of: UInt8(ascii: ":")) else { return (authority, nil) }
    let port = authority[authority.index(after: colon)...]
    // A colon inside an address literal is none before a port.
    guard port.allSatisfy({ (0x30...0x39).contains($0) }) else { return (authority, nil) }
    return (authority[..<colon], port)
  }

  private static func defaultPort(of scheme: String?) -> String? {
    switch scheme {
    case "http", "ws": "80"
    case "https", "wss": "443"
    default: nil
    }
  }

  /// Escapes of unreserved characters undone, the hexadecimal digits of others in upper case, and what is not allowed
  /// escaped. A percent sign that begins no escape stays: nobody knows what it was meant to be. Nor may it begin one
  /// afterwards, with digits that stood escaped behind it: `%%32e` is no other spelling of `%2e`.
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
        if isUnreserved(value), loose < 0 || !Hex.isDigit(value) {
          result.append(value)
        } else {
          result.appendEscape(of: value)
        }
      } else if byte == UInt8(ascii: "%") || isAllowed(byte) {
        if byte == UInt8(ascii: "%") { loose = 2 }
        result.append(byte)
      } else {
        result.appendEscape(of: byte)
      }
    }
    return result
  }

  /// RFC 3986 §2.3.
  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10
    }
  }

  /// Of a name without a port, in lower case.
  private static func isPlainHostByte(_ byte: UInt8) -> Bool {
    byte &- 0x61 < 26 || byte &- 0x30 < 10 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
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

extension [UInt8] {
  fileprivate mutating func appendEscape(of byte: UInt8) {
    append(UInt8(ascii: "%"))
    append(Hex.digit(byte >> 4, isUppercase: true))
    append(Hex.digit(byte & 15, isUppercase: true))
  }
}
