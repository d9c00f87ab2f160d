extension FieldGrammar {
  /// `host [":" port]` (RFC 9110 §7.2, RFC 3986 §3.2.2), not empty. User information is no part of it: it would let
  /// one name stand where people look and another where machines do (RFC 9110 §4.2.4).
  package static func isAuthority(_ bytes: UnsafeRawBufferPointer, needsPort: Bool = false) -> Bool {
    guard let hostEnd = endOfHost(bytes), hostEnd > 0 else { return false }
    if hostEnd == bytes.count { return !needsPort }
    guard bytes[hostEnd] == UInt8(ascii: ":") else { return false }
    let port = UnsafeRawBufferPointer(rebasing: bytes[(hostEnd + 1)...])
    if port.isEmpty { return !needsPort }
    guard let number = length(port) else { return false }
    return port.count <= 5 && number <= 0xFFFF
  }

  /// RFC 3986 §3.1.
  package static func isScheme(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let first = bytes.first, (first | 0x20) &- 0x61 < 26 else { return false }
    return bytes.allSatisfy { ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 < 10 || "+-.".utf8.contains($0) }
  }

  /// Where the host ends; nil where it is none.
  private static func endOfHost(_ bytes: UnsafeRawBufferPointer) -> Int? {
    if bytes.first == UInt8(ascii: "[") {
      guard let close = bytes.firstIndex(of: UInt8(ascii: "]")), close > 2 else { return nil }
      return bytes[1..<close].allSatisfy(ipLiteral.contains) ? close + 1 : nil
    }
    let end = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.count
    return bytes[..<end].allSatisfy(registeredName.contains) ? end : nil
  }

  /// Unreserved, sub-delimiters and the percent sign.
  private static let registeredName = ASCIISet(low: 0x2BFF_7FF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
  /// The same and the colon; what an address literal may hold beyond that is for whoever resolves it.
  private static let ipLiteral = ASCIISet(low: 0x2FFF_7FF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
}
