import Byway
import HTTPWire
package import NIOSSL

/// A certificate and its key, shown to the servers that ask for one. Safe on any thread.
public struct ClientIdentity: Sendable, Hashable {
  private let hosts: [HostPattern]
  package let chain: [NIOSSLCertificate]
  package let key: NIOSSLPrivateKey

  /// Reads a certificate and its key. Blocks while it does.
  /// - Parameters:
  ///   - certificate: PEM file of the certificate, then of those between it and its authority.
  ///   - key: PEM file of the private key, without a passphrase.
  ///   - hosts: for whom it is: names, `*.example.com` for all below, or `*`.
  /// - Throws: `BywayError` with code `unreadableFile`, which says which file cannot be used and why, or
  ///   `invalidAddress` where the two do not belong together, or a host is none.
  public init(certificate: String, key: String, hosts: [String]) throws {
    self.hosts = try hosts.map { host in
      do throws(AuthorityFlaw) { return try HostPattern(host) } catch {
        throw BywayError(.invalidAddress, place: host, error)
      }
    }
    chain = try PEMFile(certificate).certificates()
    self.key = try PEMFile(key).privateKey()
    // They belong together, or nobody is helped with them.
    do {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.trustRoots = .certificates([])
      apply(to: &configuration)
      _ = try NIOSSLContext(configuration: configuration)
    } catch {
      throw BywayError(
        .invalidAddress, "The certificate in \(certificate) and the key in \(key) do not belong together.",
        processing: .none, cause: error)
    }
  }

  package func apply(to configuration: inout TLSConfiguration) {
    configuration.certificateChain = chain.map { .certificate($0) }
    configuration.privateKey = .privateKey(key)
  }

  func isFor(_ host: Host) -> Bool {
    hosts.contains { $0.matches(host) }
  }
}
