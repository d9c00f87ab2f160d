package import Byway
package import BywayDoctor
import BywayTLS
import NIOCore

extension TLSTransport: Examinable {
  package func examine(_ address: LinkAddress, in checks: Examination) async throws(Examination.Over) -> MediumState {
    guard address[option: "open"] != "listen" else { return .unasked }
    let endpoint = try await checks.make(TLSFilesCheck(address: address))
    let addresses = try await checks.make(NameCheck(host: endpoint.host, port: endpoint.port))
    let reached = try await checks.make(
      ReachCheck(
        to: "\(LinkAddress.HostPort(host: endpoint.host, port: endpoint.port))", of: "\"byway gateway\"", at: addresses)
    )
    try await checks.make(TLSHandshakeCheck(transport: self, address: address, endpoint: reached))
    return .free
  }

  /// Diagnoses an error on an open channel. In TLS 1.3 the client's handshake ends before the server has verified its
  /// certificate.
  package func diagnose(_ error: BywayError, on address: LinkAddress) -> Diagnosis? {
    (error.evidence as? TLSEvidence).map { Diagnosis($0, error, on: address) }
  }
}
