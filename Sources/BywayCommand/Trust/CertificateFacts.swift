import Byway
import BywayPrimitives
import BywayTLS
import Crypto
import NIOCore
import NIOSSL
import SwiftASN1
import X509

/// The facts about a certificate that a user compares before trusting it, and its form in a file.
struct CertificateFacts: Sendable, Hashable {
  let certificate: NIOSSLCertificate
  /// SHA-256 of the whole certificate.
  let fingerprint: [UInt8]
  /// Subject alternative names; the common names if there are none.
  let names: [String]
  let pin: KeyPin?
  /// Seconds since 1970.
  let expiry: Int
  let pem: String

  /// - Throws: ``BywayError`` if the certificate cannot be read.
  init(_ certificate: NIOSSLCertificate) throws {
    guard let bytes = try? certificate.toDERBytes() else {
      throw BywayError(.unreadableFile, "A certificate cannot be read.", processing: .none)
    }
    self.certificate = certificate
    fingerprint = Array(SHA256.hash(data: bytes))
    pin = KeyPin(certificate)
    expiry = Int(certificate.notValidAfter)
    let alternatives = certificate._subjectAlternativeNames().compactMap(Self.text)
    names = alternatives.isEmpty ? Self.commonNames(bytes) : alternatives
    pem = PEMDocument(type: Certificate.defaultPEMDiscriminator, derBytes: bytes).pemString + "\n"
  }

  /// The certificates in a PEM file.
  static func read(_ file: PEMFile) throws -> [CertificateFacts] {
    try file.certificates().map(CertificateFacts.init)
  }

  /// The fingerprint as `openssl x509 -fingerprint` prints it.
  var fingerprintText: String {
    fingerprint.map { Hex.text(CollectionOfOne($0), isUppercase: true) }.joined(separator: ":")
  }

  /// The fingerprint without colons.
  var fingerprintName: String {
    Hex.text(fingerprint)
  }

  private static func text(of name: _SubjectAlternativeName) -> String? {
    switch name.nameType {
    case .dnsName: String(validating: name.contents, as: UTF8.self)
    case .ipAddress: (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: name.contents), port: 0))?.ipAddress
    default: nil
    }
  }

  /// Returns the common names; none if X509 rejects a certificate that NIOSSL accepts, which has the last word.
  private static func commonNames(_ bytes: [UInt8]) -> [String] {
    guard let certificate = try? Certificate(derEncoded: bytes) else { return [] }
    return certificate.subject.flatMap(\.self).filter { $0.type == .RDNAttributeType.commonName }
      .compactMap { String($0.value) }
  }
}
