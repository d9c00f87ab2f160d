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
      return BywayError(.timedOut, message(for: evidence), processing: .none)
    default:
      // The server may have received a request and rejected it unread; that is unknown here.
      var error = BywayError(.originUntrusted, message(for: evidence), cause: cause)
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

  private func message(for evidence: TLSEvidence) -> String {
    let fault = TLSFault(evidence, of: name, expecting: verifiedName)
    return switch evidence.reason {
    case .wrongName: fault.sentence("use a name that it contains, or \(Advice.expectName).")
    case .unknownAuthority, .noCertificate: untrusted
    case .certificateWanted:
      hasIdentity
        ? "\(name) did not accept our client certificate or any of our ciphers."
        : fault.sentence("\(Advice.giveClientCertificate).")
    case .ownAuthorityUnknown, .ownRefused:
      fault.sentence("use one that it accepts (\(Advice.replaceClientCertificate)).")
    case .notTLS: fault.sentence("check the port, or write http:// instead of https://.")
    case .noCommonProtocol: fault.sentence("check that an HTTP server listens there.")
    case .ended, .cut: fault.sentence("is it a TLS server?")
    case .expired, .notYetValid, .ownExpired, .noCommonVersion, .timedOut, .other: fault.sentence()
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
