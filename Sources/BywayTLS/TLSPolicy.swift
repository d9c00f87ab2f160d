import HTTPWire

/// Whom to trust, who to be, and where to connect: TLS with origins, by host. Safe on any thread.
public struct TLSPolicy: Sendable {
  /// Which certificates are believed, by host.
  public var trust = ServerTrust()
  /// The first that is for a host is shown to it.
  public var identities: [ClientIdentity] = []
  /// Hosts that are reached at another address, or whose certificate has another name; the first for a host counts.
  public var peerNames: [PeerName] = []

  /// What the system trusts, and nothing else.
  public static var defaults: TLSPolicy { TLSPolicy() }

  /// The same as ``defaults``.
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
