/// The host of an authority, in its canonical form for comparisons.
package enum Host: Sendable, Hashable {
  /// A name in lower case, without a trailing dot: labels of letters, digits, `-` and `_`.
  case name(String)
  case ipv4(UInt32)
  case ipv6(IPv6Address)

  /// Parses a host without a port. The brackets of an IPv6 address are optional.
  package init(_ text: String) throws(AuthorityFlaw) {
    self = try text.withBytes { bytes throws(AuthorityFlaw) in
      if bytes.first != UInt8(ascii: "["), bytes.contains(UInt8(ascii: ":")) {
        return .ipv6(try AuthoritySpelling.address(bytes))
      }
      let spelling = try AuthoritySpelling(bytes)
      // "name:" has no port either, but is not a host.
      guard spelling.port == nil, bytes.last != UInt8(ascii: ":") else { throw .portNotWanted }
      return Host(spelling.host, in: bytes)
    }
  }

  init(_ spelling: AuthoritySpelling.Host, in bytes: UnsafeRawBufferPointer) {
    switch spelling {
    case .ipv4(let address): self = .ipv4(address)
    case .ipv6(let address): self = .ipv6(address)
    case .name(let range):
      let name = UnsafeRawBufferPointer(rebasing: bytes[range])
      self = .name(
        String(unsafeUninitializedCapacity: name.count) { text in
          UnsafeMutableRawBufferPointer(text).baseAddress?.copyLowercased(name)
          return name.count
        })
    }
  }

  /// The text without brackets, as resolvers and certificates use it.
  package var text: String {
    switch self {
    case .name(let name): name
    case .ipv4(let address): IPv4Text.write(address)
    case .ipv6(let address): address.description
    }
  }

  /// The text as in an authority.
  package var bracketed: String {
    if case .ipv6 = self { "[\(text)]" } else { text }
  }

  package var isAddress: Bool {
    if case .name = self { false } else { true }
  }

  /// Whether the host is `localhost` (RFC 6761 §6.3), in 127.0.0.0/8, or ::1: always this machine, whatever a name server
  /// answers.
  package var isLoopback: Bool {
    switch self {
    case .name(let name): name == "localhost"
    case .ipv4(let address): address >> 24 == 127
    case .ipv6(let address): address == .loopback
    }
  }
}

extension Host: CustomStringConvertible {
  package var description: String { text }
}

extension UInt8 {
  var loweredASCII: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}
