import ArgumentParser
import Byway
import BywayGatewayProgram
import BywayTLS

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

  /// The values of these options.
  var settings: PeerSettings {
    var settings = PeerSettings()
    settings.trust = trust
    settings.clientCertificate = clientCert
    settings.clientKey = clientKey
    settings.name = peerName
    settings.address = peerAddress
    return settings
  }

  var isEmpty: Bool { settings.isEmpty }

  /// Returns the policy from the user's trust store and these options.
  /// - Parameter host: The origin's host, as the user wrote it.
  /// - Throws: ``CommandFailure`` or ``BywayError`` if a file cannot be used.
  func policy(for host: String) throws -> TLSPolicy {
    try settings.policy(for: host, trusting: Self.stored())
  }

  /// Returns what the user's store trusts; `nil` if there is none, as a daemon may have no home folder.
  static func stored() throws -> ServerTrust? {
    try (try? TrustStore())?.trust()
  }
}
