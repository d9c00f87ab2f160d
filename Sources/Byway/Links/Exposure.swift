package import NIOCore

extension LinkAddress {
  /// Whether the user has permitted listening on an address that other machines can reach.
  /// - Throws: ``BywayError`` if the option has another value.
  package func isInsecure() throws -> Bool {
    switch self[option: "insecure"] {
    case nil: return false
    case "yes": return true
    case let value?:
      throw BywayError(.invalidAddress, "insecure=\(value) is unknown: write insecure=yes, or leave it out.")
    }
  }
}

extension SocketAddress {
  /// 127.0.0.0/8 and ::1 (RFC 6890 §2.2).
  package var isLoopback: Bool {
    switch self {
    case .v4(let address): UInt32(bigEndian: address.address.sin_addr.s_addr) >> 24 == 127
    case .v6(let address):
      withUnsafeBytes(of: address.address.sin6_addr) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
    default: false
    }
  }
}
