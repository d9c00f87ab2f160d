import Byway
import BywayPrimitives
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

  func explain(_ evidence: TLSEvidence, cause: (any Error)?) -> BywayError {
    if case .cut = evidence.reason {
      let message = "The link with \(peer) ended without a TLS close_notify: it was cut, or the far end died."
      return BywayError(.linkLost, message, cause: cause)
    }
    return BywayError(.linkUnavailable, diagnosis(evidence), cause: cause)
  }

  private func diagnosis(_ evidence: TLSEvidence) -> Diagnosis {
    let fault = TLSFault(evidence, of: peer, subject: subject, expecting: name)
    return switch evidence.reason {
    case .wrongName:
      wrongName(evidence.names, fault)
    case .expired:
      Diagnosis(.expired, fault.sentence())
    case .notYetValid:
      Diagnosis(.notYetValid, fault.sentence(), command: "sudo timedatectl set-ntp true")
    case .unknownAuthority:
      unknownAuthority
    case .noCertificate:
      Diagnosis(.handshakeFailed, fault.sentence("give it cert= and key= (curl: --cert and --key)."))
    case .certificateWanted:
      isDialing
        ? Diagnosis(.clientCertificateWanted, "\(subject) asks for a client certificate: add cert=FILE and key=FILE.")
        : Diagnosis(.handshakeFailed, "\(subject) accepts none of the ciphers that this end offers: update it.")
    case .ownAuthorityUnknown:
      Diagnosis(
        .clientCertificateRefused,
        fault.sentence(
          isDialing
            ? "compare its ca= with our cert=."
            : "give it that authority's certificate (ca= of a link, --cacert of curl), or use a certificate of an authority that it trusts."
        )
      )
    case .ownExpired:
      Diagnosis(.clientCertificateRefused, fault.sentence())
    case .ownRefused:
      Diagnosis(
        .clientCertificateRefused,
        fault.sentence(
          isDialing
            ? "compare its ca= and name= with our cert=."
            : "it may not trust its authority, or have connected to a name that the certificate does not have."))
    case .notTLS:
      Diagnosis(
        .notTLS,
        isDialing
          ? fault.sentence("check the port, or use tcp: on both ends.")
          : "A client of \(address.place) did not begin with TLS: it must use tls:// as well.")
    case .noCommonVersion:
      Diagnosis(.noCommonVersion, fault.sentence())
    case .noCommonProtocol:
      Diagnosis(
        .noCommonProtocol,
        isDialing
          ? "\(address.place) does not speak \(isHTTP1 ? "HTTP/1.1" : "HTTP/2"), says its TLS (ALPN): "
            + "\(isHTTP1 ? "leave out http=1.1" : "if it is a web server, add ?http=1.1 to the link")."
          : fault.sentence("it must speak HTTP."))
    case .timedOut, .ended, .cut:
      Diagnosis(.handshakeFailed, fault.sentence(isDialing ? "does a TLS server listen there?" : nil))
    case .other:
      Diagnosis(.handshakeFailed, fault.sentence())
    }
  }

  private func wrongName(_ names: [String], _ fault: TLSFault) -> Diagnosis {
    guard !names.isEmpty else {
      return Diagnosis(
        .wrongName,
        "The certificate of \(peer) has no alternative names (subjectAltName), so it is valid for no host: the gateway needs another."
      )
    }
    return Diagnosis(
      .wrongName,
      fault.sentence("say which name it contains with name=. It is for \(names.prefix(4).joined(separator: ", "))."),
      repair: names.first { !$0.contains("*") }.map { .examine(link: address.adding("name", $0)) })
  }

  private var unknownAuthority: Diagnosis {
    let sentence = "The certificate of \(peer) does not come from \(authorities)."
    guard isDialing, let place = try? address.hostPort() else { return Diagnosis(.unknownAuthority, sentence) }
    return Diagnosis(
      .unknownAuthority,
      "\(sentence) Ask its administrator for the authority's certificate, and give that "
        + (address[option: "ca"] == nil ? "as ca=FILE." : "instead."),
      command: "openssl s_client -showcerts -connect \(ShellWord.of("\(place)")) </dev/null")
  }

  private var isHTTP1: Bool { address[option: "http"] == "1.1" }

  private var authorities: String {
    address[option: "ca"].map { "the authorities in ca=\($0)" } ?? "the system's authorities"
  }

  // The place alone: options that name files would hide what the sentence says.
  private var peer: String { isDialing ? address.place : "a client of \(address.place)" }
  /// The peer, at the beginning of a sentence.
  private var subject: String { isDialing ? address.place : "A client of \(address.place)" }
}

extension LinkAddress {
  /// Returns the text of the address with one more option.
  fileprivate func adding(_ option: String, _ value: String) -> String {
    "\(text)\(options.isEmpty ? "?" : "&")\(option)=\(value)"
  }
}
