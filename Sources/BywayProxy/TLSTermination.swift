import Byway
package import HTTPWire
package import NIOCore

/// Stands in for servers: takes the TLS that clients of a proxy have with them off their tunnels.
package protocol TLSTermination: Sendable {
  /// Whether tunnels to this host are ended here.
  func terminates(_ host: Host) -> Bool

  /// Begins TLS as this host's server. Succeeds when bytes may be exchanged; the channel does not read yet.
  func begin(on channel: any Channel, as host: Host) -> EventLoopFuture<Void>
}
