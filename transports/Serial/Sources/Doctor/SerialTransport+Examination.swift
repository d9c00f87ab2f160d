package import Byway
package import BywayDoctor

extension SerialTransport: Examinable {
  package func examine(_ address: LinkAddress, in checks: Examination) async throws(Examination.Over) -> MediumState {
    let path = try await checks.make(DeviceCheck(address: address))
    try await checks.make(DevicePermissionCheck(path: path))
    // Invalid options of the address have been reported by an earlier check.
    let format = (try? LineFormat(address)) ?? LineFormat()
    let ground = try await checks.make(HolderCheck(path: path, format: format))
    // A program that uses the port has set the adapter.
    guard case .free = ground, LowLatency.milliseconds(LowLatency.file(of: path)) != nil else { return ground }
    try await checks.make(LatencyCheck(path: path, format: format))
    return ground
  }
}
