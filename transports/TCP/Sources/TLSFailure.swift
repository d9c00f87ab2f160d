internal import Byway
internal import Glibc
internal import NIOCore
internal import NIOSSL

/// What each failure of TLS means for the person who reads it.
struct TLSFailure {
  private let address: LinkAddress
  /// What must stand in the far end's certificate; `nil` where any name will do.
  private let name: String?
  private let isDialling: Bool

  init(_ address: LinkAddress, verifying name: String?, isDialling: Bool) {
    self.address = address
    self.name = name
    self.isDialling = isDialling
  }

  var timeout: BywayError {
    unavailable("The TLS handshake with \(peer) did not end in time: does TLS listen there?")
  }

  var end: BywayError {
    unavailable("\(peer) ended the connection during the TLS handshake: does TLS listen there?")
  }

  /// - Parameter certificate: the far end's, as far as it is known.
  func explain(_ error: any Error, peer certificate: NIOSSLCertificate?) -> BywayError {
    switch error {
    case let error as BywayError: error
    case is NIOSSLExtraError, NIOSSLError.unableToValidateCertificate: wrongName(error)
    case is IOError, NIOSSLError.uncleanShutdown:
      BywayError(
        .linkLost, "The link with \(peer) ended without a TLS close_notify: it was cut, or the far end died.",
        cause: error)
    default: explain(reason: String(describing: error), error, certificate)
    }
  }

  /// BoringSSL tells its reasons by name only, as part of the text.
  private func explain(reason: String, _ error: any Error, _ certificate: NIOSSLCertificate?) -> BywayError {
    if reason.contains("CERTIFICATE_VERIFY_FAILED") { return untrusted(error, certificate) }
    if reason.contains("PEER_DID_NOT_RETURN_A_CERTIFICATE") {
      return unavailable("\(peer) has shown no certificate: it must be given cert= and key=.", error)
    }
    if reason.contains("ALERT_CERTIFICATE_REQUIRED") || reason.contains("ALERT_HANDSHAKE_FAILURE") {
      return unavailable("\(peer) asks for a client certificate: add cert=FILE and key=FILE.", error)
    }
    if reason.contains("ALERT_UNKNOWN_CA") {
      return unavailable(
        "\(peer) does not trust the authority of our certificate: compare its ca= with our cert=.", error)
    }
    if reason.contains("ALERT_CERTIFICATE_EXPIRED") {
      return unavailable("\(peer) says that our certificate has expired: renew it, or check both clocks.", error)
    }
    if reason.contains("CERTIFICATE_UNKNOWN") || reason.contains("ALERT_BAD_CERTIFICATE") {
      return unavailable("\(peer) refused our certificate: compare its ca= and name= with our cert=.", error)
    }
    if reason.contains("WRONG_VERSION_NUMBER") || reason.contains("HTTP_REQUEST") {
      return unavailable("\(peer) does not speak TLS: check the port, or use tcp: on both ends.", error)
    }
    if reason.contains("EOF during handshake") { return end }
    return unavailable("TLS with \(peer) failed.", error)
  }

  private func untrusted(_ error: any Error, _ certificate: NIOSSLCertificate?) -> BywayError {
    let now = time(nil)
    if let certificate, certificate.notValidAfter < now {
      return unavailable("The certificate of \(peer) has expired: renew it, or check the clock.", error)
    }
    if let certificate, certificate.notValidBefore > now {
      return unavailable("The certificate of \(peer) is not valid yet: check the clock.", error)
    }
    let authority = address[option: "ca"].map { "the authorities in ca=\($0)" } ?? "the system's authorities (give ca=)"
    return unavailable("The certificate of \(peer) does not come from \(authority).", error)
  }

  private func wrongName(_ error: any Error) -> BywayError {
    let wanted = name.map { " for \($0)" } ?? ""
    return unavailable("The certificate of \(peer) is not\(wanted): say which name it has with name=.", error)
  }

  private var peer: String { isDialling ? address.description : "a client of \(address)" }

  private func unavailable(_ message: String, _ cause: (any Error)? = nil) -> BywayError {
    BywayError(.linkUnavailable, message, processing: .none, cause: cause)
  }
}
