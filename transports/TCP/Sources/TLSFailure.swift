import Byway
import BywayTLS

/// The messages for TLS failures on a link, in the user's terms.
struct TLSFailure: TLSWords {
  private let address: LinkAddress
  /// The name that the peer's certificate must contain; `nil` accepts any name.
  private let name: String?
  private let isDialing: Bool

  init(_ address: LinkAddress, verifying name: String?, isDialing: Bool) {
    self.address = address
    self.name = name
    self.isDialing = isDialing
  }

  func explain(_ reason: TLSReason, cause: (any Error)?) -> BywayError {
    if case .cut = reason {
      let message = "The link with \(peer) ended without a TLS close_notify: it was cut, or the far end died."
      return BywayError(.linkLost, message, cause: cause)
    }
    return BywayError(.linkUnavailable, message(for: reason), processing: .none, cause: cause)
  }

  private func message(for reason: TLSReason) -> String {
    switch reason {
    case .wrongName:
      "The certificate of \(peer) is not\(name.map { " for \($0)" } ?? ""): say which name it contains with name=."
    case .expired:
      "The certificate of \(peer) has expired: renew it, or check the clock."
    case .notYetValid:
      "The certificate of \(peer) is not valid yet: check the clock."
    case .unknownAuthority:
      "The certificate of \(peer) does not come from \(authorities)."
    case .noCertificate:
      "\(subject) sent no certificate: give it cert= and key=."
    case .certificateWanted:
      "\(subject) asks for a client certificate: add cert=FILE and key=FILE."
    case .ownAuthorityUnknown:
      "\(subject) does not trust the authority of our certificate: compare its ca= with our cert=."
    case .ownExpired:
      "\(subject) says that our certificate has expired: renew it, or check both clocks."
    case .ownRefused:
      "\(subject) refused our certificate: compare its ca= and name= with our cert=."
    case .notTLS:
      isDialing
        ? "\(address) does not speak TLS: check the port, or use tcp: on both ends."
        : "A client of \(address) did not begin with TLS: it must use tls:// as well."
    case .noCommonVersion:
      "\(subject) speaks no version of TLS that this end does, which is 1.2 and newer: update it."
    case .noCommonProtocol:
      isDialing
        ? "\(address) does not speak \(address[option: "http"] == "1.1" ? "HTTP/1.1" : "HTTP/2"), says its TLS (ALPN): "
          + "\(address[option: "http"] == "1.1" ? "leave out http=1.1" : "if it is a web server, add ?http=1.1 to the link")."
        : "A client of \(address) speaks none of the protocols that are offered (ALPN): it must speak HTTP."
    case .timedOut:
      "The TLS handshake with \(peer) did not end in time: does a TLS server listen there?"
    case .ended, .cut:
      "\(subject) ended the connection during the TLS handshake: does a TLS server listen there?"
    case .other:
      "The TLS handshake with \(peer) failed."
    }
  }

  private var authorities: String {
    address[option: "ca"].map { "the authorities in ca=\($0)" } ?? "the system's authorities (give ca=)"
  }

  private var peer: String { isDialing ? address.description : "a client of \(address)" }
  /// The peer, at the beginning of a sentence.
  private var subject: String { isDialing ? address.description : "A client of \(address)" }
}
