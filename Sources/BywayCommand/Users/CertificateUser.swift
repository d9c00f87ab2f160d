import Byway
import SwiftASN1
import X509

/// The user that a certificate identifies.
enum CertificateUser {
  /// Returns the only e-mail address among the alternative names or, if there are no alternative names, the only common name. A
  /// certificate with the name of a host belongs to a device or a server, and one with only a URI to a program: neither is a user's
  /// login.
  /// - Parameter bytes: A verified certificate in DER.
  /// - Returns: `nil` if it identifies no user, or several.
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
