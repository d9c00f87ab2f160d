/// The protocols of an `Upgrade` field (RFC 9110 §7.8).
extension FieldGrammar {
  /// Whether the bytes are the name of a protocol, optionally with a slash and a version.
  package static func isProtocol(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else { return isToken(bytes) }
    return isToken(.init(rebasing: bytes[..<slash])) && isToken(.init(rebasing: bytes[(slash + 1)...]))
  }

  /// Whether the protocol is only another way to carry the same request: another version of HTTP, or TLS underneath. Clients
  /// offer these with ordinary requests and expect an ordinary response. RFC 9113 §3.1 has removed the offer of `h2c`.
  package static func carriesHTTP(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let slash = bytes.firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
    let name = UnsafeRawBufferPointer(rebasing: bytes[..<slash])
    return isH2C(name) || equal(name, lowercased: "http") || equal(name, lowercased: "tls")
  }

  package static func isH2C(_ bytes: UnsafeRawBufferPointer) -> Bool { equal(bytes, lowercased: "h2c") }
}
