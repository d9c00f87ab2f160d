import Byway
import Crypto
import NIOCore
package import NIOSSL

/// What a person compares of a certificate before trusting it, and its form in a file.
package struct CertificateFacts: Sendable, Hashable {
  /// SHA-256 of the whole certificate.
  package let fingerprint: [UInt8]
  /// Subject alternative names; the common name where there are none.
  package let names: [String]
  package let pin: KeyPin?
  /// Seconds since 1970.
  package let expiry: Int
  package let pem: String

  /// - Throws: ``BywayError`` where the certificate cannot be read.
  package init(_ certificate: NIOSSLCertificate) throws {
    guard let bytes = try? certificate.toDERBytes() else {
      throw BywayError(.invalidAddress, "A certificate cannot be read.", processing: .none)
    }
    fingerprint = Array(SHA256.hash(data: bytes))
    pin = KeyPin(certificate)
    expiry = Int(certificate.notValidAfter)
    let alternatives = certificate._subjectAlternativeNames().compactMap(Self.text)
    names = alternatives.isEmpty ? [CertificateParts(bytes)?.commonName].compactMap(\.self) : alternatives
    pem = Self.armoured(bytes)
  }

  /// The certificates in a PEM file.
  package static func read(_ path: String) throws -> [CertificateFacts] {
    try PEMFile(path).certificates().map(CertificateFacts.init)
  }

  /// As `openssl x509 -fingerprint` prints it.
  package var fingerprintText: String {
    fingerprint.map(Self.hex).joined(separator: ":")
  }

  /// The same without colons.
  package var fingerprintName: String {
    fingerprint.map(Self.hex).joined().lowercased()
  }

  private static func hex(_ byte: UInt8) -> String {
    let text = String(byte, radix: 16, uppercase: true)
    return text.count == 1 ? "0" + text : text
  }

  private static func text(of name: _SubjectAlternativeName) -> String? {
    switch name.nameType {
    case .dnsName: String(validating: name.contents, as: UTF8.self)
    case .ipAddress: (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: name.contents), port: 0))?.ipAddress
    default: nil
    }
  }

  /// RFC 7468.
  private static func armoured(_ bytes: [UInt8]) -> String {
    let text = Array(Base64.encode(bytes).utf8)
    let lines = stride(from: 0, to: text.count, by: 64)
      .map { String(decoding: text[$0..<min($0 + 64, text.count)], as: UTF8.self) + "\n" }
    return "-----BEGIN CERTIFICATE-----\n\(lines.joined())-----END CERTIFICATE-----\n"
  }
}
