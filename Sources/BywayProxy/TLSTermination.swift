import Byway
package import BywayHTTPWire
package import NIOCore

/// Terminates TLS in tunnels of a proxy's clients, in the place of the servers.
package protocol TLSTermination: Sendable {
  /// Whether tunnels to this host are terminated here.
  func terminates(_ host: Host) -> Bool

  /// Starts TLS as this host's server. Succeeds when the handshake is complete; the channel does not read yet.
  func begin(on channel: any Channel, as host: Host) -> EventLoopFuture<Void>
}
