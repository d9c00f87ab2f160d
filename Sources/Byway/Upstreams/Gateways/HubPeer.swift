package import NIOCore

/// A machine that dials a hub, as identified by its address.
package enum HubPeer: Sendable, Hashable {
  /// This machine, over a transport without addresses.
  case local
  /// An IPv4 address, or the first half of an IPv6 address: one machine may choose the rest (RFC 8981).
  case network([UInt8])

  package init(_ channel: any Channel) {
    switch channel.remoteAddress {
    case .v4(let address): self = .network(withUnsafeBytes(of: address.address.sin_addr) { Array($0) })
    case .v6(let address): self = .network(withUnsafeBytes(of: address.address.sin6_addr) { Array($0.prefix(8)) })
    case .unixDomainSocket, nil: self = .local
    }
  }
}
