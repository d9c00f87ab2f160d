package import Byway
package import BywayDoctor

extension TCPTransport: Examinable {
  package func examine(
    _ address: LinkAddress, in examination: Examination
  ) async throws(Examination.Over) -> MediumState {
    // With `open=listen` this end listens, and the peer dials.
    guard address[option: "open"] != "listen" else { return .unasked }
    let endpoint = try await examination.make(LoopbackCheck(address: address))
    _ = try await examination.make(
      ReachCheck(to: address.place, of: "\"byway gateway\"", at: endpoint.addresses))
    return .free
  }
}
