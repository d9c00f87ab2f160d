import Byway
import BywayDoctor
import BywayTLS
import Glibc
import Primitives

extension Diagnosis {
  /// Creates the diagnosis for a TLS failure on a link, and says how to fix it.
  init(_ evidence: TLSEvidence, _ error: BywayError, on address: LinkAddress) {
    let place = address.place
    switch evidence.reason {
    case .wrongName:
      let names = evidence.names
      self.init(
        .wrongName,
        names.isEmpty
          ? "The certificate of \(place) has no alternative names (subjectAltName), so it is valid for no host: the gateway needs another."
          : "\(error.message) It is for \(names.prefix(4).joined(separator: ", ")).",
        command: names.first { !$0.contains("*") }.map { "byway doctor \(ShellWord.of(address.adding("name", $0)))" })
    case .expired:
      let when = evidence.notValidAfter.map { " on \(Self.moment($0))" } ?? ""
      self.init(
        .expired,
        "The certificate of \(place) has expired\(when), and this machine's clock says \(Self.moment(time(nil))): renew it there, or "
          + "set the clock.")
    case .notYetValid:
      let when = evidence.notValidBefore.map { " before \(Self.moment($0))" } ?? " yet"
      self.init(
        .notYetValid,
        "The certificate of \(place) is not valid\(when), and this machine's clock says \(Self.moment(time(nil))): set the clock.",
        command: "sudo timedatectl set-ntp true")
    case .unknownAuthority:
      let host = (try? address.hostPort()).map { "\($0)" } ?? ""
      self.init(
        .unknownAuthority,
        "\(error.message) Ask its administrator for the authority's certificate, and give that as ca=FILE.",
        command: "openssl s_client -showcerts -connect \(ShellWord.of(host)) </dev/null")
    case .certificateWanted: self.init(.clientCertificateWanted, error.message)
    case .ownAuthorityUnknown, .ownExpired, .ownRefused: self.init(.clientCertificateRefused, error.message)
    case .noCommonVersion: self.init(.noCommonVersion, error.message)
    case .noCommonProtocol: self.init(.noCommonProtocol, error.message)
    case .notTLS: self.init(.notTLS, error.message)
    case .ended, .timedOut, .noCertificate, .cut, .other: self.init(.handshakeFailed, error.message)
    }
  }

  private static func moment(_ seconds: Int) -> String {
    "\(CalendarTime(secondsSinceEpoch: seconds).dateAndTime)Z"
  }
}

extension LinkAddress {
  /// Returns the text of the address with one more option.
  fileprivate func adding(_ option: String, _ value: String) -> String {
    "\(text)\(options.isEmpty ? "?" : "&")\(option)=\(value)"
  }
}
