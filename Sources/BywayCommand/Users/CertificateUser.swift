import Byway
import SwiftASN1
import X509

/// Whose a certificate is.
enum CertificateUser {
  /// The one e-mail name among the alternative names, or where there are none at all the one common name. A certificate with the name of a
  /// host is a device's or a server's, and one with a URI alone a program's: nobody logs in with them.
  /// - Parameter bytes: the certificate in DER, which has been verified.
  /// - Returns: `nil` where it is no person's, or of several.
  static func name(in bytes: [UInt8]) -> UserName? {
    guard let certificate = try? Certificate(derEncoded: bytes) else { return nil }
    var mails: [String] = []
    let names: SubjectAlternativeNames
    do { names = try certificate.extensions.subjectAlternativeNames ?? SubjectAlternativeNames() } catch { return nil }
    for name in names {
      switch name {
      case .rfc822Name(let mail): mails.append(mail)
      case .dnsName, .ipAddress: return nil
      default: break
      }
    }
    if !names.isEmpty { return mails.count == 1 ? UserName(mails[0]) : nil }
    let common = certificate.subject.flatMap(\.self).filter { $0.type == .RDNAttributeType.commonName }
    return common.count == 1 ? String(common[0].value).flatMap { UserName($0) } : nil
  }
}
