import ArgumentParser
import Byway
import BywayTLS
import BywayTerminal

/// TLS with the one origin of a command: the certificates to trust, and the client certificate to present.
struct PeerOptions: ParsableArguments {
  @Option(
    help: .value(
      "file", "Trust the certificates in this file for the origin, its own or its authority's. May be repeated."),
    completion: .file())
  var trust: [String] = []

  @Option(
    help: .value("file", "Show this certificate to the origin if it asks for one."),
    completion: .file())
  var clientCert: String?

  @Option(help: .value("file", "The private key of --client-cert."), completion: .file())
  var clientKey: String?

  @Option(help: .value("name", "Expect this name in the origin's certificate, and ask for it."))
  var peerName: String?

  @Option(
    help: .value("host[:port]", "Connect to this host instead; the origin is expected there."))
  var peerAddress: String?

  var isEmpty: Bool {
    trust.isEmpty && clientCert == nil && clientKey == nil && peerName == nil && peerAddress == nil
  }

  /// Returns the policy from the user's trust store and these options.
  /// - Parameter host: The origin's host, as the user wrote it.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if a file cannot be used.
  func policy(for host: String) throws -> TLSPolicy {
    var policy = TLSPolicy()
    // A daemon may have no home folder.
    if let store = try? TrustStore() { policy.trust = try store.trust() }
    for file in trust { try policy.trust.add(certificatesIn: file, for: host) }
    switch (clientCert, clientKey) {
    case (let certificate?, let key?):
      policy.identities = [try ClientIdentity(certificate: certificate, key: key, hosts: [host])]
    case (nil, nil): break
    default:
      throw CommandFailure(.usage, "A client certificate needs its key: give both --client-cert and --client-key.")
    }
    if peerName != nil || peerAddress != nil {
      policy.peerNames = [try PeerName(host: host, dial: peerAddress, name: peerName)]
    }
    return policy
  }
}
