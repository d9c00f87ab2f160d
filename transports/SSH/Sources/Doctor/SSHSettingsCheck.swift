import Byway

/// Checks that the settings in the address and in ssh_config can be understood.
struct SSHSettingsCheck: LinkCheck {
  static let title = "settings"

  let address: LinkAddress

  func examine(_ resources: OpenedResources) async throws -> Finding<HostSettings> {
    let settings: HostSettings
    do {
      let target = try SSHTarget(address).login
      settings = try await HostSettings.resolve(
        alias: target.host, user: target.user, port: target.port, options: target.options)
    } catch {
      return .wrong(Diagnosis(.badSettings, error.message))
    }
    let way = settings.jumps.map { "\($0.host), " }.joined()
    let stops = way.isEmpty ? "" : ", by way of \(way.dropLast(2))"
    let ignored =
      settings.ignored.isEmpty
      ? "" : " Not understood, and ignored: \(settings.ignored.prefix(3).joined(separator: "; "))."
    return .sound("\(SSHFailure(settings).server)\(stops).\(ignored)", settings)
  }
}
