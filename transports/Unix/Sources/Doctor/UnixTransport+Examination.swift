package import Byway
package import BywayDoctor

extension UnixTransport: Examinable {
  package func examine(_ address: LinkAddress, in checks: Examination) async throws(Examination.Over) -> MediumState {
    // With `open=listen` this end creates the file, and the peer dials.
    guard address[option: "open"] != "listen" else {
      await checks.skip(SocketFileCheck.self, because: "The far end dials.")
      return .unasked
    }
    let file = try await checks.make(SocketFileCheck(address: address))
    try await checks.make(SocketPermissionCheck(path: file))
    try await checks.make(ConnectionCheck(to: address, over: self) { Diagnosis(.nobodyListens, $0.message) })
    return .free
  }
}
