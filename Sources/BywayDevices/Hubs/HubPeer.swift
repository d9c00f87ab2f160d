import Byway
package import NIOCore

/// A machine that dials a hub, as identified by its address.
package enum HubPeer: Sendable, Hashable {
  /// This machine, over a transport without addresses.
  case local
  /// The bytes that identify a machine on a network.
  case network([UInt8])

  package init(_ address: SocketAddress?) {
    self = address?.peerBytes.map { .network($0) } ?? .local
  }

  package init(_ channel: any Channel) {
    self.init(channel.remoteAddress)
  }
}
