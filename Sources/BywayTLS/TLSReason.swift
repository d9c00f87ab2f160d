import BywayLibC
import NIOCore
package import NIOSSL

/// The reason of a TLS failure, as far as a user can act on it.
package enum TLSReason: Sendable, Hashable {
  /// Problems of the remote end's certificate.
  case wrongName, expired, notYetValid, unknownAuthority
  /// Problems of this end's certificate, as reported by the remote end.
  case certificateWanted, ownAuthorityUnknown, ownExpired, ownRefused
  /// The remote end was asked for a certificate, and has none.
  case noCertificate
  /// The remote end does not speak TLS.
  case notTLS
  /// Its versions, or its protocols above TLS (RFC 7301), have nothing in common with ours.
  case noCommonVersion, noCommonProtocol
  case timedOut
  /// The connection ended in the middle of the handshake.
  case ended
  /// The connection ended without a close_notify: data may be missing (RFC 8446 §6.1).
  case cut
  case other

  /// - Parameter certificate: the remote end's, if it is known.
  package init(_ error: any Error, peer certificate: NIOSSLCertificate?) {
    switch error {
    case is NIOSSLExtraError, NIOSSLError.unableToValidateCertificate: self = .wrongName
    case is IOError, NIOSSLError.uncleanShutdown: self = .cut
    default: self.init(name: String(describing: error), certificate)
    }
  }

  /// Parses BoringSSL's reasons, which are only names within a text.
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
