import HTTPWire

/// Whom to trust, who to be, and where to connect: TLS with origins, by host. Safe on any thread.
public struct TLSPolicy: Sendable {
  public var trust = ServerTrust()
  /// The first that is for a host is shown to it.
  public var identities: [ClientIdentity] = []
  public var peerNames: [PeerName] = []

  /// What the system trusts, and nothing else.
  public static var defaults: TLSPolicy { TLSPolicy() }

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
