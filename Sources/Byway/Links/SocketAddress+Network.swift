package import NIOCore

extension SocketAddress {
  /// The bytes that identify a peer: an IPv4 address, also one that an IPv6 address maps (RFC 4291 §2.5.5.2), or the first half of another
  /// IPv6 address, because one machine may choose the rest (RFC 8981). `nil` for a Unix socket.
  package var peerBytes: [UInt8]? {
    switch self {
    case .v4(let address): withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
    case .v6(let address):
      withUnsafeBytes(of: address.address.sin6_addr) { bytes in
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return Array(isMapped ? bytes.suffix(4) : bytes.prefix(8))
      }
    case .unixDomainSocket: nil
    }
  }
}
