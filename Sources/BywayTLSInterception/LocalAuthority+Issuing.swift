import Byway
import BywayHTTPWire
import BywayLibC
import Crypto
import X509

/// A certificate with its new key.
package struct IssuedCertificate: Sendable {
  package let certificatePEM: String
  package let keyPEM: String
  /// The last second in which it is valid, since 1970.
  package let expiry: Int
}

extension LocalAuthority {
  /// The holder of a certificate that an authority issues for long.
  package enum Holder: Sendable {
    /// A gateway, a hub or another server. It shows the certificate when it dials as well.
    case device([CertifiedHost])
    /// A client that logs in with it, by its e-mail address or its common name.
    case user
  }

  /// Issues a certificate with a new key. It ends with the authority at the latest.
  /// - Parameters:
  ///   - name: the common name, which is cut at its limit of 64 characters. A device's names do not depend on it.
  ///   - now: seconds since 1970; `nil`: the present.
  /// - Throws: `BywayError` if the authority's certificate has expired, or is not that of an authority.
  package func issue(
    to holder: Holder, named name: String, days: Int, at now: Int? = nil
  ) throws -> IssuedCertificate {
    guard isAuthority else {
      throw BywayError(.unreadableFile, "The certificate is not that of an authority.", processing: .none)
    }
    let now = now ?? time(nil)
    guard now <= expiry else {
      throw BywayError(.unreadableFile, "The certificate of the authority has expired.", processing: .none)
    }
    let key = P256.Signing.PrivateKey()
    // Apple's systems count the days from the beginning, and accept at most 825 of them.
    let begin = now - Self.tolerance
    let end = min(begin + days * 86_400 - 1, expiry)
    let names: [GeneralName] =
      switch holder {
      case .device(let hosts): hosts.map(\.name)
      case .user: name.contains("@") && name.utf8.allSatisfy { $0 < 0x80 } ? [.rfc822Name(name)] : []
      }
    let usages: [ExtendedKeyUsage.Usage] =
      switch holder {
      case .device: [.serverAuth, .clientAuth]
      case .user: [.clientAuth]
      }
    let certificate = try issue(
      to: try DistinguishedName { CommonName(String(name.unicodeScalars.prefix(64))) },
      key.publicKey,
      validity: begin...max(begin, end), usages: usages, names: names)
    return IssuedCertificate(
      certificatePEM: try certificate.serializeAsPEM().pemString + "\n", keyPEM: key.pemRepresentation + "\n",
      expiry: end)
  }
}
