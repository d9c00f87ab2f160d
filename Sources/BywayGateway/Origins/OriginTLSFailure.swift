import Byway
import Glibc
import NIOCore
import NIOSSL

/// What each failure of TLS with an origin means for the person who reads it.
struct OriginTLSFailure {
  let name: String
  /// The file of authorities that was given; `nil` for the system's.
  let anchors: String?

  func explain(_ failure: TLSHandshake.Failure) -> BywayError {
    switch failure.cause {
    case is NIOSSLExtraError, NIOSSLError.unableToValidateCertificate:
      untrusted("The certificate of \(name) is for another name: write the origin with a name that it has.", failure)
    case is IOError, NIOSSLError.uncleanShutdown:
      ended(failure)
    default:
      explain(reason: String(describing: failure.cause), failure)
    }
  }

  /// BoringSSL tells its reasons by name only, as part of the text.
  private func explain(reason: String, _ failure: TLSHandshake.Failure) -> BywayError {
    if reason.contains("CERTIFICATE_VERIFY_FAILED") { return unverified(failure) }
    if reason.contains("WRONG_VERSION_NUMBER") || reason.contains("HTTP_REQUEST") {
      return untrusted("\(name) does not speak TLS: check the port, or write http:// instead of https://.", failure)
    }
    if reason.contains("CERTIFICATE_REQUIRED") || reason.contains("HANDSHAKE_FAILURE") {
      return untrusted(
        "\(name) wants a certificate of its clients, which a gateway has none of, or other ciphers.", failure)
    }
    if reason.contains("EOF during handshake") { return ended(failure) }
    return untrusted("TLS with \(name) failed.", failure)
  }

  private func unverified(_ failure: TLSHandshake.Failure) -> BywayError {
    let now = time(nil)
    if let certificate = failure.certificate, certificate.notValidAfter < now {
      return untrusted("The certificate of \(name) has expired: renew it, or check this machine's clock.", failure)
    }
    if let certificate = failure.certificate, certificate.notValidBefore > now {
      return untrusted("The certificate of \(name) is not valid yet: check this machine's clock.", failure)
    }
    let authority = anchors.map { "no authority in \($0)" } ?? "no authority that this machine trusts"
    return untrusted(
      "The certificate of \(name) comes from \(authority): give its authority's certificate with ?ca=FILE.", failure)
  }

  private func ended(_ failure: TLSHandshake.Failure) -> BywayError {
    untrusted("\(name) ended the connection during the TLS handshake: does it speak TLS there?", failure)
  }

  private func untrusted(_ message: String, _ failure: TLSHandshake.Failure) -> BywayError {
    BywayError(.originUntrusted, message, processing: .none, cause: failure.cause)
  }
}
