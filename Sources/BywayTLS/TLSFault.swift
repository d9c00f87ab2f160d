import BywayLibC
import BywayPrimitives

/// The fault of a failed TLS connection in words, for links and for origins. Their remedies differ.
package struct TLSFault: Sendable {
  private let evidence: TLSEvidence
  /// The peer, within a sentence.
  private let peer: String
  /// The peer, at the beginning of a sentence.
  private let subject: String
  /// The name that the certificate must contain; `nil` accepts any name.
  private let name: String?

  package init(_ evidence: TLSEvidence, of peer: String, subject: String? = nil, expecting name: String?) {
    self.evidence = evidence
    self.peer = peer
    self.subject = subject ?? peer
    self.name = name
  }

  /// The fault, without a full stop.
  package var text: String {
    switch evidence.reason {
    case .wrongName: "The certificate of \(peer) is not\(name.map { " for \($0)" } ?? "")"
    case .expired:
      "The certificate of \(peer) has expired\(day(" on ", evidence.notValidAfter)), and this machine's clock says \(Self.today)"
    case .notYetValid:
      "The certificate of \(peer) is not valid\(evidence.notValidBefore == nil ? " yet" : day(" before ", evidence.notValidBefore)), "
        + "and this machine's clock says \(Self.today)"
    case .unknownAuthority: "The certificate of \(peer) was not issued by an authority that this end trusts"
    case .noCertificate: "\(subject) sent no certificate"
    case .certificateWanted:
      "\(subject) asks for a client certificate, or accepts none of the ciphers that this end offers"
    case .ownAuthorityUnknown: "\(subject) does not trust the authority of our certificate"
    case .ownExpired: "\(subject) says that our certificate has expired"
    case .ownRefused: "\(subject) refused our certificate"
    case .notTLS: "\(subject) does not speak TLS"
    case .noCommonVersion: "\(subject) speaks no version of TLS that this end does, which is 1.2 and newer"
    case .noCommonProtocol: "\(subject) speaks none of the protocols that are offered (ALPN)"
    case .timedOut: "The TLS handshake with \(peer) did not end in time"
    case .ended, .cut: "\(subject) ended the connection during the TLS handshake"
    case .other: "The TLS handshake with \(peer) failed"
    }
  }

  /// The fault and its remedy, a sentence.
  /// - Parameter remedy: `nil` for the remedy that is the same for all peers, if there is one.
  package func sentence(_ remedy: String? = nil) -> String {
    "\(text)\((remedy ?? usualRemedy).map { ": \($0)" } ?? ".")"
  }

  private var usualRemedy: String? {
    switch evidence.reason {
    case .expired: "renew it there, or set the clock."
    case .notYetValid: "set the clock."
    case .ownExpired: "renew it, or check both clocks."
    case .noCommonVersion: "update it."
    default: nil
    }
  }

  /// Only the day, so that a repeated failure has the same message.
  private static var today: String { CalendarTime(secondsSinceEpoch: time(nil)).date }

  private func day(_ preposition: String, _ seconds: Int?) -> String {
    seconds.map { preposition + CalendarTime(secondsSinceEpoch: $0).date } ?? ""
  }
}
