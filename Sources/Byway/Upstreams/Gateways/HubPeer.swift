package import NIOCore

/// A machine that dials a hub, as far as an address tells.
package enum HubPeer: Sendable, Hashable {
  /// This one, by a way without addresses.
  case local
  /// An address of IPv4, or the first half of one of IPv6: one machine may choose the rest (RFC 8981).
  case network([UInt8])

  package init(_ channel: any Channel) {
    switch channel.remoteAddress {
    case .v4(let address): self = .network(withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
    case .v6(let address): self = .network(withUnsafeBytes(of: address.address.sin6_addr) { Array($0.prefix(8)) })
    case .unixDomainSocket, nil: self = .local
    }
  }
}
