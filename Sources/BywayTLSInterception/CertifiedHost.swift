package import BywayHTTPWire
import SwiftASN1
import X509

/// The name of a host in a server's certificate (RFC 5280 §4.2.1.6).
package struct CertifiedHost: Sendable {
  let name: GeneralName

  /// Returns the name of all hosts directly below a domain.
  package static func all(below host: Host) -> CertifiedHost? {
    guard case .name(let domain) = host else { return nil }
    return CertifiedHost(name: .dnsName("*.\(domain)"))
  }

  private init(name: GeneralName) {
    self.name = name
  }

  package init(_ host: Host) {
    name =
      switch host {
      case .name(let text): .dnsName(text)
      case .ipv4(let address): Self.address(withUnsafeBytes(of: address.bigEndian, Array.init))
      case .ipv6(let address): Self.address(address.bytes)
      }
  }

  private static func address(_ bytes: [UInt8]) -> GeneralName {
    .ipAddress(ASN1OctetString(contentBytes: bytes[...]))
  }
}
