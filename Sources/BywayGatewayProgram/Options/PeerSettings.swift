package import BywayTLS
import BywayTerminal

/// The values of the options for TLS with one server, as users write them.
package struct PeerSettings: Sendable {
  /// Files with certificates to trust.
  package var trust: [String] = []
  package var clientCertificate: String?
  package var clientKey: String?
  package var name: String?
  package var address: String?

  package init() {}

  package var isEmpty: Bool {
    trust.isEmpty && clientCertificate == nil && clientKey == nil && name == nil && address == nil
  }

  /// Returns the policy that results from these values.
  /// - Parameters:
  ///   - host: The server's host, as the user wrote it.
  ///   - stored: The certificates and keys that are trusted anyway; `nil` if there are none.
  /// - Throws: ``CommandFailure`` or `BywayError` if a file cannot be used.
  package func policy(for host: String, trusting stored: ServerTrust?) throws -> TLSPolicy {
    var policy = TLSPolicy()
    if let stored { policy.trust = stored }
    for file in trust { try policy.trust.add(certificatesIn: file, for: host) }
    switch (clientCertificate, clientKey) {
    case (let certificate?, let key?):
      policy.identities = [try ClientIdentity(certificate: certificate, key: key, hosts: [host])]
    case (nil, nil): break
    default:
      throw CommandFailure(.usage, "A client certificate needs its key: give both --client-cert and --client-key.")
    }
    if name != nil || address != nil {
      policy.peerNames = [try PeerName(host: host, dial: address, name: name)]
    }
    return policy
  }
}
