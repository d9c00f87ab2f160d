import BywayLibC
import BywayPrimitives
import NIOSSL

/// The reason and certificate of a TLS failure: additional evidence of an error.
package struct TLSEvidence: Sendable {
  package let reason: TLSReason
  /// The remote end's certificate, if it has shown one.
  private let certificate: NIOSSLCertificate?

  init(reason: TLSReason, certificate: NIOSSLCertificate?) {
    self.reason = reason
    self.certificate = certificate
  }

  /// The alternative names of the certificate, safe to display; a common name does not count (RFC 9525 §2).
  package var names: [String] {
    certificate?._subjectAlternativeNames().compactMap { name in
      switch name.nameType {
      case .dnsName: String(validating: name.contents, as: UTF8.self)?.visible
      case .ipAddress: Self.address(Array(name.contents))
      default: nil
      }
    } ?? []
  }

  /// In seconds since 1970.
  package var notValidBefore: Int? { certificate.map { Int($0.notValidBefore) } }
  /// In seconds since 1970.
  package var notValidAfter: Int? { certificate.map { Int($0.notValidAfter) } }

  private static func address(_ bytes: [UInt8]) -> String? {
    guard [4, 16].contains(bytes.count) else { return nil }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil else {
      return nil
    }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
