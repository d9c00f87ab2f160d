import Byway
import Crypto
import Glibc
import X509

import struct FoundationEssentials.Date

/// A certificate authority of one user on one machine, so that the user's own programs accept certificates that a proxy issues.
package struct LocalAuthority: Sendable {
  private static let lifetime = 2 * 365 * 86_400

  private let key: P256.Signing.PrivateKey
  private let certificate: Certificate
  /// The certificate, for programs that should trust it.
  package let certificatePEM: String
  package let keyPEM: String

  /// Makes a new authority, which signs only certificates of servers.
  package init(name: String) throws {
    let key = P256.Signing.PrivateKey()
    let publicKey = Certificate.PublicKey(key.publicKey)
    let name = try DistinguishedName { CommonName(name) }
    let now = time(nil)
    let certificate = try Certificate(
      of: name, publicKey, validity: now - 3600...now + Self.lifetime,
      extensions: Certificate.Extensions {
        Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
        Critical(KeyUsage(keyCertSign: true))
        SubjectKeyIdentifier(hash: publicKey)
      },
      by: name, key)
    try self.init(key: key, certificate: certificate)
  }

  /// Reads a stored authority.
  /// - Throws: `BywayError` if certificate and key do not belong together, or cannot be read.
  package init(certificatePEM: String, keyPEM: String) throws {
    do {
      let key = try P256.Signing.PrivateKey(pemRepresentation: keyPEM)
      try self.init(key: key, certificate: Certificate(pemEncoded: certificatePEM))
    } catch {
      throw BywayError(
        .invalidAddress,
        "The local authority cannot be read: run byway trust authority remove, and then create, to make another.",
        processing: .none, cause: error)
    }
  }

  private init(key: P256.Signing.PrivateKey, certificate: Certificate) throws {
    guard certificate.publicKey == Certificate.PublicKey(key.publicKey) else {
      throw BywayError(.invalidAddress, "Key and certificate do not belong together.", processing: .none)
    }
    self.key = key
    self.certificate = certificate
    certificatePEM = try certificate.serializeAsPEM().pemString + "\n"
    keyPEM = key.pemRepresentation + "\n"
  }

  /// Issues a server's certificate for one host.
  /// - Parameter validity: seconds since 1970.
  func mint(for host: CertifiedHost, _ key: P256.Signing.PublicKey, validity: ClosedRange<Int>) throws -> Certificate {
    let publicKey = Certificate.PublicKey(key)
    return try Certificate(
      of: DistinguishedName { CommonName("Inspected by Byway") }, publicKey, validity: validity,
      extensions: Certificate.Extensions {
        Critical(KeyUsage(digitalSignature: true))
        try ExtendedKeyUsage([.serverAuth])
        SubjectKeyIdentifier(hash: publicKey)
        AuthorityKeyIdentifier(keyIdentifier: try certificate.extensions.subjectKeyIdentifier?.keyIdentifier)
        SubjectAlternativeNames([host.name])
      },
      by: certificate.subject, self.key)
  }
}

extension Certificate {
  /// Issues a certificate with a random serial number, signed by ECDSA over P-256.
  fileprivate init(
    of subject: DistinguishedName, _ key: PublicKey, validity: ClosedRange<Int>, extensions: Extensions,
    by issuer: DistinguishedName, _ issuerKey: P256.Signing.PrivateKey
  ) throws {
    try self.init(
      version: .v3, serialNumber: SerialNumber(UInt128.random(in: 1 ... .max)), publicKey: key,
      notValidBefore: Date(timeIntervalSince1970: Double(validity.lowerBound)),
      notValidAfter: Date(timeIntervalSince1970: Double(validity.upperBound)), issuer: issuer, subject: subject,
      signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions, issuerPrivateKey: PrivateKey(issuerKey))
  }
}
