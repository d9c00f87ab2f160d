import BywayPrimitives
import NIOSSL

/// A certificate of this end that is not valid now.
enum CertificateLapse: Sendable, Hashable {
  /// Seconds since the epoch.
  case expired(at: Int)
  case notYetValid(until: Int)

  /// `nil` if the certificate is valid now.
  init?(_ certificate: NIOSSLCertificate) {
    let now = WallTime.now().seconds
    let (begin, end) = (Int(certificate.notValidBefore), Int(certificate.notValidAfter))
    if end < now {
      self = .expired(at: end)
    } else if begin > now {
      self = .notYetValid(until: begin)
    } else {
      return nil
    }
  }
}
