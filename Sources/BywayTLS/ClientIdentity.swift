import Byway
import BywayHTTPWire
package import NIOSSL

/// A certificate and its key for servers that request one. Safe on any thread.
public struct ClientIdentity: Sendable, Hashable {
  private let hosts: [HostPattern]
  package let chain: [NIOSSLCertificate]
  package let key: NIOSSLPrivateKey

  /// Reads a certificate and its key. Blocks.
  /// - Parameters:
  ///   - certificate: a PEM file with the certificate, then the intermediate certificates.
  ///   - key: a PEM file with the private key, without a passphrase.
  ///   - hosts: the hosts to use it for: names, `*.example.com` for all names below, or `*`.
  /// - Throws: `BywayError` with code `unreadableFile`, which says which file cannot be used and why, or `invalidAddress` if the
  ///   certificate and the key do not match, or a host is invalid.
  public init(certificate: String, key: String, hosts: [String]) throws {
    self.hosts = try hosts.map { host in
      do throws(AuthorityFlaw) { return try HostPattern(host) } catch {
        throw BywayError(.invalidAddress, place: host, error)
      }
    }
    chain = try PEMFile(certificate).certificates()
    self.key = try PEMFile(key).privateKey()
    // Checks that they match.
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
