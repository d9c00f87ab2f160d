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

  /// The reasons by the names that BoringSSL has for them; the first that occurs counts.
  private static let names: KeyValuePairs<String, TLSReason> = [
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": .noCertificate,
    "CERTIFICATE_REQUIRED": .certificateWanted, "HANDSHAKE_FAILURE": .certificateWanted,
    "ALERT_UNKNOWN_CA": .ownAuthorityUnknown, "ALERT_CERTIFICATE_EXPIRED": .ownExpired,
    "CERTIFICATE_UNKNOWN": .ownRefused, "ALERT_BAD_CERTIFICATE": .ownRefused,
    "WRONG_VERSION_NUMBER": .notTLS, "HTTP_REQUEST": .notTLS,
    "PROTOCOL_VERSION": .noCommonVersion, "UNSUPPORTED_PROTOCOL": .noCommonVersion,
    "NO_APPLICATION_PROTOCOL": .noCommonProtocol, "EOF during handshake": .ended,
  ]

  /// - Parameter text: contains BoringSSL's name of the reason.
  private init(name text: String, _ certificate: NIOSSLCertificate?) {
    self =
      text.contains("CERTIFICATE_VERIFY_FAILED")
      ? Self.unverified(certificate) : Self.names.first { text.contains($0.key) }?.value ?? .other
  }

  private static func unverified(_ certificate: NIOSSLCertificate?) -> TLSReason {
    let now = time(nil)
    guard let certificate else { return .unknownAuthority }
    if certificate.notValidAfter < now { return .expired }
    return certificate.notValidBefore > now ? .notYetValid : .unknownAuthority
  }
}
