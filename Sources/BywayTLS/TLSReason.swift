import Glibc
import NIOCore
package import NIOSSL

/// Why TLS failed, as far as a person can do something about it.
package enum TLSReason: Sendable, Hashable {
  /// The far end's certificate.
  case wrongName, expired, notYetValid, unknownAuthority
  /// This end's, as the far end sees it.
  case certificateWanted, ownAuthorityUnknown, ownExpired, ownRefused
  /// The far end was asked for a certificate.
  case noCertificate
  /// The far end speaks something else.
  case notTLS
  /// Its versions, or its protocols above TLS (RFC 7301), have nothing in common with ours.
  case noCommonVersion, noCommonProtocol
  case timedOut
  /// The connection, in the middle of the handshake.
  case ended
  /// The connection, without a close_notify: what came may not be all (RFC 8446 §6.1).
  case cut
  case other

  /// - Parameter certificate: the far end's, as far as it is known.
  package init(_ error: any Error, peer certificate: NIOSSLCertificate?) {
    switch error {
    case is NIOSSLExtraError, NIOSSLError.unableToValidateCertificate: self = .wrongName
    case is IOError, NIOSSLError.uncleanShutdown: self = .cut
    default: self.init(name: String(describing: error), certificate)
    }
  }

  /// BoringSSL tells its reasons by name only, as part of the text.
  private init(name: String, _ certificate: NIOSSLCertificate?) {
    func tells(_ words: String...) -> Bool { words.contains { name.contains($0) } }
    if tells("CERTIFICATE_VERIFY_FAILED") {
      self = Self.unverified(certificate)
    } else if tells("PEER_DID_NOT_RETURN_A_CERTIFICATE") {
      self = .noCertificate
    } else if tells("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE") {
      self = .certificateWanted
    } else if tells("ALERT_UNKNOWN_CA") {
      self = .ownAuthorityUnknown
    } else if tells("ALERT_CERTIFICATE_EXPIRED") {
      self = .ownExpired
    } else if tells("CERTIFICATE_UNKNOWN", "ALERT_BAD_CERTIFICATE") {
      self = .ownRefused
    } else if tells("WRONG_VERSION_NUMBER", "HTTP_REQUEST") {
      self = .notTLS
    } else if tells("PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL") {
      self = .noCommonVersion
    } else if tells("NO_APPLICATION_PROTOCOL") {
      self = .noCommonProtocol
    } else if tells("EOF during handshake") {
      self = .ended
    } else {
      self = .other
    }
  }

  private static func unverified(_ certificate: NIOSSLCertificate?) -> TLSReason {
    let now = time(nil)
    guard let certificate else { return .unknownAuthority }
    if certificate.notValidAfter < now { return .expired }
    return certificate.notValidBefore > now ? .notYetValid : .unknownAuthority
  }
}
