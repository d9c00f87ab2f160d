import BywayHTTPWire

/// The policy for TLS with origins, by host: trust, client identity, and addresses. Safe on any thread.
public struct TLSPolicy: Sendable {
  /// The trusted certificates, by host.
  public var trust = ServerTrust()
  /// The client certificates. The first one for a host is shown to it.
  public var identities: [ClientIdentity] = []
  /// Hosts with another address, or with another name in their certificate; the first rule for a host applies.
  public var peerNames: [PeerName] = []

  /// The trust of the system, and nothing else.
  public static var defaults: TLSPolicy { TLSPolicy() }

  /// Creates the same as ``defaults``.
  public init() {}

  package func peerName(for host: String) -> PeerName? {
    let host = ServerTrust.key(host)
    return peerNames.first { $0.host == host }
  }

  package func identity(for host: String) -> ClientIdentity? {
    guard let host = try? Host(host) else { return nil }
    return identities.first { $0.isFor(host) }
  }
}
