import Byway
package import BywayTLS
import Crypto
import Glibc
import NIOSSL

/// An authority that exists on one machine, for its user alone, so that the user's own programs accept what a proxy mints.
package struct LocalAuthority: Sendable {
  private static let lifetime = 2 * 365 * 86_400

  private let key: P256.Signing.PrivateKey
  let certificate: NIOSSLCertificate
  private let subject: [UInt8]
  /// Of the certificate, for the programs that are to trust it.
  package let certificatePEM: String
  package let keyPEM: String

  /// A new one.
  package init(name: String) throws {
    let key = P256.Signing.PrivateKey()
    let subject = CertificateForm.name(name)
    let now = time(nil)
    let bytes = try CertificateForm(
      kind: .authority, subject: subject, issuer: subject, validity: now - 3600...now + Self.lifetime,
      key: key.publicKey, issuerKey: key.publicKey
    ).signed(by: key)
    try self.init(key: key, certificate: NIOSSLCertificate(bytes: bytes, format: .der))
  }

  /// One that was made before.
  /// - Throws: ``BywayError`` where the two do not belong together, or cannot be read.
  package init(certificatePEM: String, keyPEM: String) throws {
    do {
      let certificates = try NIOSSLCertificate.fromPEMBytes(Array(certificatePEM.utf8))
      guard let certificate = certificates.first else { throw NIOSSLError.failedToLoadCertificate }
      try self.init(key: P256.Signing.PrivateKey(pemRepresentation: keyPEM), certificate: certificate)
    } catch {
      throw BywayError(
        .invalidAddress, "The local authority cannot be read: byway trust authority remove, then create makes another.",
        processing: .none, cause: error)
    }
  }

  private init(key: P256.Signing.PrivateKey, certificate: NIOSSLCertificate) throws {
    guard let parts = try CertificateParts(certificate.toDERBytes()),
      parts.publicKey.elementsEqual(key.publicKey.derRepresentation)
    else { throw BywayError(.invalidAddress, "Key and certificate do not belong together.", processing: .none) }
    self.key = key
    self.certificate = certificate
    subject = Array(parts.subject)
    certificatePEM = try CertificateFacts(certificate).pem
    keyPEM = key.pemRepresentation + "\n"
  }

  package var facts: CertificateFacts {
    get throws { try CertificateFacts(certificate) }
  }

  /// A server's certificate for one host.
  func mint(for host: String, _ key: P256.Signing.PublicKey, validity: ClosedRange<Int>) throws -> NIOSSLCertificate {
    let bytes = try CertificateForm(
      kind: .server(host: host), subject: CertificateForm.name("Inspected by Byway"), issuer: subject,
      validity: validity, key: key, issuerKey: self.key.publicKey
    ).signed(by: self.key)
    return try NIOSSLCertificate(bytes: bytes, format: .der)
  }
}
