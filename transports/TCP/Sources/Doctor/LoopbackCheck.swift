import Byway
import BywayDoctor

/// Checks that the address is on this machine, and has a port.
struct LoopbackCheck: Check {
  static let title = "address"

  let address: LinkAddress

  func examine(_ resources: OpenedResources) async throws -> Finding<LoopbackEndpoint> {
    do {
      let endpoint = try LoopbackEndpoint(address)
      guard endpoint.port != 0 else { throw TCPFailure.noPort(address) }
      return .sound("\(address.place) is on this machine.", endpoint)
    } catch {
      return .wrong(Diagnosis(.badSettings, BywayError(error).message))
    }
  }
}
