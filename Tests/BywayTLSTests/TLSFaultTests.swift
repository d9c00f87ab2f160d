import Testing

@testable import BywayTLS

/// The words for failures of TLS, which links and origins share.
@Suite("Words for TLS failures") struct TLSFaultTests {
  private func fault(_ reason: TLSReason) -> TLSFault {
    TLSFault(TLSEvidence(reason: reason, certificate: nil), of: "a client", subject: "A client", expecting: "b.example")
  }

  @Test(
    "the sentence names the peer, and ends with the remedy",
    arguments: [
      (.wrongName, "The certificate of a client is not for b.example."),
      (.ownAuthorityUnknown, "A client does not trust the authority of our certificate."),
      (.ownExpired, "A client says that our certificate has expired: renew it, or check both clocks."),
      (.ownRefused, "A client refused our certificate."), (.notTLS, "A client does not speak TLS."),
      (.noCommonVersion, "A client speaks no version of TLS that this end does, which is 1.2 and newer: update it."),
      (.timedOut, "The TLS handshake with a client did not end in time."),
      (.ended, "A client ended the connection during the TLS handshake."),
      (.other, "The TLS handshake with a client failed."),
    ] as [(TLSReason, String)])
  func sentences(_ reason: TLSReason, _ sentence: String) {
    #expect(fault(reason).sentence() == sentence)
    #expect(fault(reason).sentence("do this.") == "\(fault(reason).text): do this.")
  }

  @Test("without the dates of a certificate, the sentence tells the day of this machine only")
  func days() {
    let expired = fault(.expired).sentence()
    #expect(expired.hasPrefix("The certificate of a client has expired, and this machine's clock says 2"), "\(expired)")
    #expect(expired.hasSuffix(": renew it there, or set the clock."), "\(expired)")
    let early = fault(.notYetValid).sentence()
    #expect(
      early.hasPrefix("The certificate of a client is not valid yet, and this machine's clock says 2"), "\(early)")
    #expect(early.hasSuffix(": set the clock."), "\(early)")
  }
}
