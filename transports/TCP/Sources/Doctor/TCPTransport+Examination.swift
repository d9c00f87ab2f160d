package import Byway
package import BywayDoctor

extension TCPTransport: Examinable {
  package func examine(_ address: LinkAddress, in checks: Examination) async throws(Examination.Over) -> MediumState {
    // With `open=listen` this end listens, and the peer dials.
    guard address[option: "open"] != "listen" else { return .unasked }
    let endpoint = try await checks.make(LoopbackCheck(address: address))
    _ = try await checks.make(
      ReachCheck(to: address.place, of: "\"byway gateway\"", at: endpoint.addresses))
    return .free
  }
}
