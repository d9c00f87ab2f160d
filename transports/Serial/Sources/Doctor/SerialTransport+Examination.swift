package import Byway

extension SerialTransport: Examinable {
  package func examine(_ address: LinkAddress, in context: LinkContext) async throws(ExaminationEnd) -> MediumState {
    let path = try await context.make(DeviceCheck(address: address))
    try await context.make(DevicePermissionCheck(path: path))
    // Invalid options of the address have been reported by an earlier check.
    let format = (try? LineFormat(address)) ?? LineFormat()
    let ground = try await context.make(HolderCheck(path: path, format: format))
    // A program that uses the port has set the adapter.
    guard case .free = ground, LowLatency.milliseconds(LowLatency.file(of: path)) != nil else { return ground }
    try await context.make(LatencyCheck(path: path, format: format))
    return ground
  }
}
