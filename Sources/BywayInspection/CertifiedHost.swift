import Byway
import NIOCore
import SwiftASN1
import X509

/// A host as a server's certificate names it (RFC 5280 §4.2.1.6): an address, or a name in the letters that DNS has.
struct CertifiedHost {
  let name: GeneralName

  /// - Parameter host: as `ServerTrust.key` spells it.
  /// - Throws: ``BywayError`` where no certificate can be for it.
  init(_ host: String) throws(BywayError) {
    switch try? SocketAddress(ipAddress: host, port: 0) {
    case .v4(let address): name = Self.address(address.address.sin_addr)
    case .v6(let address): name = Self.address(address.address.sin6_addr)
    default:
      guard Self.isName(host) else {
        throw BywayError(
          .invalidRequest,
          "No certificate can be made for \"\(host)\": ask for an address, or for one name of letters, digits, - and _, "
            + "at most 63 between dots and 253 in all; other letters are written as xn--….", processing: .none)
      }
      name = .dnsName(host)
    }
  }

  private static func address(_ address: some Any) -> GeneralName {
    withUnsafeBytes(of: address) { .ipAddress(ASN1OctetString(contentBytes: Array($0)[...])) }
  }

  /// RFC 1123 §2.1, and `_`, which names of devices have. No `*`: that would be a certificate for many.
  private static func isName(_ host: String) -> Bool {
    let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return host.utf8.count <= 253
      && labels.allSatisfy { label in
        (1...63).contains(label.count)
          && label.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x5F
          }
      }
  }
}
