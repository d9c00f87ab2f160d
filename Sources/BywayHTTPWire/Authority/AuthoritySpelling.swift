/// An authority parsed in place. Nothing is allocated, because every request is parsed here.
package struct AuthoritySpelling: Sendable {
  package enum Host: Sendable {
    /// The range of the name, without a trailing dot.
    case name(Range<Int>)
    case ipv4(UInt32)
    case ipv6(IPv6Address)
  }

  package let host: Host
  package let port: UInt16?

  /// Parses `host [ ":" port ]` (RFC 3986 §3.2.2). An empty port counts as none (§6.2.3).
  package init(_ bytes: UnsafeRawBufferPointer) throws(AuthorityFlaw) {
    if bytes.isEmpty { throw .empty }
    if bytes.firstOffset(of: UInt8(ascii: "@"), from: 0) != nil { throw .userInformation }
    let hostEnd: Int
    if bytes[0] == UInt8(ascii: "[") {
      guard let close = bytes.firstIndex(of: UInt8(ascii: "]")) else { throw .address }
      host = .ipv6(try Self.address(UnsafeRawBufferPointer(rebasing: bytes[1..<close])))
      hostEnd = close + 1
    } else {
      hostEnd = bytes.firstOffset(of: UInt8(ascii: ":"), from: 0) ?? bytes.count
      host = try Self.named(UnsafeRawBufferPointer(rebasing: bytes[..<hostEnd]))
    }
    if hostEnd == bytes.count {
      port = nil
      return
    }
    guard bytes[hostEnd] == UInt8(ascii: ":") else { throw .address }
    port = try Self.port(UnsafeRawBufferPointer(rebasing: bytes[(hostEnd + 1)...]))
  }

  /// Parses the text between brackets. Zones apply to one machine and are never sent (RFC 9844 §4).
  static func address(_ bytes: UnsafeRawBufferPointer) throws(AuthorityFlaw) -> IPv6Address {
    if bytes.contains(UInt8(ascii: "%")) { throw .zone }
    guard let address = IPv6Address(bytes) else { throw .address }
    return address
  }

  private static func port(_ digits: UnsafeRawBufferPointer) throws(AuthorityFlaw) -> UInt16? {
    if digits.isEmpty { return nil }
    guard digits.count <= 5, let number = FieldGrammar.length(digits), let port = UInt16(exactly: number) else {
      throw .port
    }
    return port
  }

  /// Checks a name by RFC 1123 §2.1 and RFC 1035 §2.3.4. `_` is also allowed, because names of devices contain it.
  private static func named(_ bytes: UnsafeRawBufferPointer) throws(AuthorityFlaw) -> Host {
    var count = bytes.count
    if count > 1, bytes[count - 1] == UInt8(ascii: ".") { count -= 1 }
    if count == 0 { throw .empty }
    var labelStart = 0
    var index = 0
    while index < count {
      let byte = bytes[index]
      if byte == UInt8(ascii: ".") {
        try check(label: index - labelStart)
        labelStart = index + 1
      } else if !nameBytes.contains(byte) {
        throw flaw(of: byte)
      }
      index += 1
    }
    try check(label: count - labelStart)
    if count > 253 { throw .length }
    let name = UnsafeRawBufferPointer(rebasing: bytes[..<count])
    guard looksNumeric(UnsafeRawBufferPointer(rebasing: bytes[labelStart..<count])) else { return .name(0..<count) }
    // "127.1", "2130706433" and "0x7f.1" are addresses to some resolvers and names to others.
    guard let address = IPv4Text.read(name) else { throw .number }
    return .ipv4(address)
  }

  private static func check(label count: Int) throws(AuthorityFlaw) {
    if count == 0 { throw .label }
    if count > 63 { throw .length }
  }

  /// Letters, digits, `-` and `_`.
  private static var nameBytes: ASCIISet { ASCIISet(low: 0x03FF_2000_0000_0000, high: 0x07FF_FFFE_87FF_FFFE) }

  private static func flaw(of byte: UInt8) -> AuthorityFlaw {
    switch byte {
    case UInt8(ascii: "%"): .percentEncoding
    case 0x80...: .otherScript
    default: .character
    }
  }

  /// Whether a label is a number. No DNS name ends in one.
  private static func looksNumeric(_ label: UnsafeRawBufferPointer) -> Bool {
    if label.allSatisfy({ $0 &- 0x30 < 10 }) { return true }
    guard label.count >= 2, label[0] == UInt8(ascii: "0"), label[1].loweredASCII == UInt8(ascii: "x") else {
      return false
    }
    return label[2...].allSatisfy { $0 &- 0x30 < 10 || $0.loweredASCII &- 0x61 < 6 }
  }
}
