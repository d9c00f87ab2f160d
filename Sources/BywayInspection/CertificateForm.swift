import Crypto
import Glibc
import NIOCore

/// A certificate to be signed (RFC 5280 §4.1) with ECDSA over P-256: all that this module ever makes.
struct CertificateForm {
  enum Kind {
    /// Signs certificates of servers and nothing else.
    case authority
    /// A server's, under this one name or address.
    case server(host: String)
  }

  let kind: Kind
  /// A Name, encoded.
  let subject: [UInt8]
  let issuer: [UInt8]
  /// Seconds since 1970.
  let validity: ClosedRange<Int>
  let key: P256.Signing.PublicKey
  let issuerKey: P256.Signing.PublicKey

  /// ecdsa-with-SHA256 (RFC 5758 §3.2).
  private static let algorithm = DER.sequence(DER.id([0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]))

  /// - Returns: the certificate in DER.
  func signed(by authority: P256.Signing.PrivateKey) throws -> [UInt8] {
    let serial = (0..<16).map { _ in UInt8.random(in: 0...255) }
    let body = DER.sequence(
      DER.tagged(0, DER.integer([2]), isConstructed: true), DER.integer([0x40] + serial), Self.algorithm, issuer,
      DER.sequence(Self.time(validity.lowerBound), Self.time(validity.upperBound)), subject,
      Array(key.derRepresentation), DER.tagged(3, DER.sequence(extensions), isConstructed: true))
    let signature = try authority.signature(for: body).derRepresentation
    return DER.sequence(body, Self.algorithm, DER.bits(Array(signature)))
  }

  static func name(_ commonName: String) -> [UInt8] {
    DER.sequence(DER.set(DER.sequence(DER.id([0x55, 0x04, 0x03]), DER.utf8(commonName))))
  }

  // MARK: Extensions (RFC 5280 §4.2)

  private var extensions: [UInt8] {
    switch kind {
    case .authority:
      Self.basicConstraints + Self.keyUsage(0x04, unused: 2) + subjectKey
    case .server(let host):
      Self.keyUsage(0x80, unused: 7) + Self.serverAuthentication + subjectKey + authorityKey
        + Self.alternativeName(host)
    }
  }

  /// An authority, with none below it.
  private static let basicConstraints = part(0x13, DER.sequence(DER.yes, DER.integer([0])), isCritical: true)

  private static func keyUsage(_ bits: UInt8, unused: UInt8) -> [UInt8] {
    part(0x0F, DER.bits([bits], unused: unused), isCritical: true)
  }

  private static let serverAuthentication = part(
    0x25, DER.sequence(DER.id([0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01])))

  private var subjectKey: [UInt8] { Self.part(0x0E, DER.octets(Self.identifier(of: key))) }

  private var authorityKey: [UInt8] {
    Self.part(0x23, DER.sequence(DER.tagged(0, Self.identifier(of: issuerKey), isConstructed: false)))
  }

  private static func alternativeName(_ host: String) -> [UInt8] {
    let address = try? SocketAddress(ipAddress: host, port: 0)
    let name: [UInt8] =
      switch address {
      case .v4(let address):
        DER.tagged(7, withUnsafeBytes(of: address.address.sin_addr) { Array($0) }, isConstructed: false)
      case .v6(let address):
        DER.tagged(7, withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }, isConstructed: false)
      default: DER.tagged(2, Array(host.utf8), isConstructed: false)
      }
    return part(0x11, DER.sequence(name))
  }

  /// - Parameter id: below id-ce.
  private static func part(_ id: UInt8, _ value: [UInt8], isCritical: Bool = false) -> [UInt8] {
    DER.sequence(DER.id([0x55, 0x1D, id]), isCritical ? DER.yes : [], DER.octets(value))
  }

  /// RFC 7093 §2, method 1.
  private static func identifier(of key: P256.Signing.PublicKey) -> [UInt8] {
    Array(SHA256.hash(data: key.x963Representation).prefix(20))
  }

  /// UTCTime until 2049, GeneralizedTime from then on (RFC 5280 §4.1.2.5).
  private static func time(_ seconds: Int) -> [UInt8] {
    var moment = time_t(seconds)
    var parts = tm()
    gmtime_r(&moment, &parts)
    let year = Int(parts.tm_year) + 1900
    let isLate = year >= 2050
    let numbers =
      [isLate ? year / 100 : nil, year % 100, Int(parts.tm_mon) + 1, Int(parts.tm_mday)]
      + [Int(parts.tm_hour), Int(parts.tm_min), Int(parts.tm_sec)]
    let text = numbers.compactMap(\.self).map { $0 < 10 ? "0\($0)" : "\($0)" }.joined() + "Z"
    return DER.element(isLate ? 0x18 : 0x17, Array(text.utf8))
  }
}
