import Byway

/// The messages for failures of TLS with an origin.
struct OriginTLSFailure: TLSWords {
  let name: String
  let host: String
  let verifiedName: String
  let entry: ServerTrust.Entry?
  let hasIdentity: Bool

  func explain(_ evidence: TLSEvidence, cause: (any Error)?) -> BywayError {
    let reason = evidence.reason
    switch reason {
    case .cut:
      let message = "\(name) ended the connection without a TLS close_notify: it was cut, or the server died."
      return BywayError(.originLost, message, cause: cause)
    case .timedOut:
      return BywayError(.timedOut, "The TLS handshake with \(name) did not end in time.", processing: .none)
    default:
      // The server may have received a request and rejected it unread; that is unknown here.
      var error = BywayError(.originUntrusted, message(for: reason), cause: cause)
      error.advice = advice(for: reason)
      return error
    }
  }

  private func advice(for reason: TLSReason) -> Advice? {
    switch reason {
    case .wrongName: .expectName
    case .certificateWanted: hasIdentity ? nil : .giveClientCertificate
    case .ownAuthorityUnknown, .ownRefused: .replaceClientCertificate
    default: nil
    }
  }

  private func message(for reason: TLSReason) -> String {
    switch reason {
    case .wrongName:
      "The certificate of \(name) is not for \(verifiedName): use a name that it contains, or \(Advice.expectName)."
    case .expired:
      "The certificate of \(name) has expired: renew it, or check this machine's clock."
    case .notYetValid:
      "The certificate of \(name) is not valid yet: check this machine's clock."
    case .unknownAuthority, .noCertificate:
      untrusted
    case .certificateWanted:
      hasIdentity
        ? "\(name) did not accept our client certificate or any of our ciphers."
        : "\(name) wants a client certificate or other ciphers: \(Advice.giveClientCertificate)."
    case .ownAuthorityUnknown:
      "\(name) does not trust the authority of our client certificate: use one that it accepts (\(Advice.replaceClientCertificate))."
    case .ownExpired:
      "\(name) says that our client certificate has expired: renew it, or check both clocks."
    case .ownRefused:
      "\(name) refused our client certificate: use one that it accepts (\(Advice.replaceClientCertificate))."
    case .notTLS:
      "\(name) does not speak TLS: check the port, or write http:// instead of https://."
    case .noCommonVersion:
      "\(name) speaks no version of TLS that this end does, which is 1.2 and newer: update it."
    case .noCommonProtocol:
      "\(name) speaks none of the protocols that it was offered (ALPN): check that an HTTP server listens there."
    case .ended, .cut, .timedOut:
      "\(name) ended the connection during the TLS handshake: is it a TLS server?"
    case .other:
      "The TLS handshake with \(name) failed."
    }
  }

  private var untrusted: String {
    guard let entry else {
      return
        "The certificate of \(name) was not issued by an authority that this machine trusts: if you know whose it is, trust it "
        + "for this host: \(Advice.trust(host: host))."
    }
    guard entry.pins.isEmpty else {
      return
        "\(name) shows a different key from the one pinned for \(host): the connection may be intercepted, or the key was renewed."
    }
    return
      "The certificate of \(name) was not issued by an authority in \(entry.source): compare the two, or trust another for this "
      + "host: \(Advice.trust(host: host))."
  }
}
