import Byway
import BywayLibC
import Crypto
import X509

import struct FoundationEssentials.Date

/// A private certificate authority. A proxy that inspects https issues with one what the user's own programs accept; another issues the
/// certificates of devices and users.
package struct LocalAuthority: Sendable {
  /// How far the clock of a machine that verifies a certificate may be behind, in seconds.
  static let tolerance = 3600

  private let key: P256.Signing.PrivateKey
  private let certificate: Certificate
  /// The certificate, for programs that should trust it.
  package let certificatePEM: String
  package let keyPEM: String

  /// Makes a new authority, which signs no certificates of further authorities.
  package init(name: String, days: Int = 2 * 365) throws {
    let key = P256.Signing.PrivateKey()
    let publicKey = Certificate.PublicKey(key.publicKey)
    let name = try DistinguishedName { CommonName(name) }
    let now = time(nil)
    let certificate = try Certificate(
      of: name, publicKey, validity: now - Self.tolerance...now + days * 86_400,
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
        "The local authority cannot be read: \(Advice.replaceAuthority).", processing: .none, cause: error)
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

  /// The last second in which its certificate is valid, since 1970.
  package var expiry: Int { Int(certificate.notValidAfter.timeIntervalSince1970) }

  var isAuthority: Bool {
    guard case .isCertificateAuthority? = try? certificate.extensions.basicConstraints else { return false }
    return true
  }

  /// Issues a server's certificate for one host.
  /// - Parameter validity: seconds since 1970.
  func mint(for host: CertifiedHost, _ key: P256.Signing.PublicKey, validity: ClosedRange<Int>) throws -> Certificate {
    try issue(
      to: DistinguishedName { CommonName("Inspected by Byway") }, key, validity: validity, usages: [.serverAuth],
      names: [host.name])
  }

  /// Issues a certificate that cannot issue others.
  /// - Parameter validity: seconds since 1970.
  func issue(
    to subject: DistinguishedName, _ key: P256.Signing.PublicKey, validity: ClosedRange<Int>,
    usages: [ExtendedKeyUsage.Usage], names: [GeneralName]
  ) throws -> Certificate {
    let publicKey = Certificate.PublicKey(key)
    return try Certificate(
      of: subject, publicKey, validity: validity,
      extensions: Certificate.Extensions {
        Critical(KeyUsage(digitalSignature: true))
        try ExtendedKeyUsage(usages)
        SubjectKeyIdentifier(hash: publicKey)
        AuthorityKeyIdentifier(keyIdentifier: try certificate.extensions.subjectKeyIdentifier?.keyIdentifier)
        if !names.isEmpty { SubjectAlternativeNames(names) }
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
