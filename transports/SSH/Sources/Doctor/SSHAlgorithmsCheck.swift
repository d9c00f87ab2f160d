import Byway

/// Checks that both ends share a key exchange, a host key type, a cipher and an integrity check (RFC 4253 §7.1).
struct SSHAlgorithmsCheck: LinkCheck {
  static let title = "algorithms"

  let stop: ExaminedLogin.Stop

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    if stop.hop.stage >= .agreed { return .sound("\(stop.hop.agreement ?? "Agreed").") }
    let error = stop.error?.message ?? "No key exchange took place."
    guard stop.hop.identification.mismatch != nil else { return .wrong(Diagnosis(.noKeyExchange, error)) }
    return .wrong(
      Diagnosis(
        .noCommonAlgorithm,
        "\(error) Allow one of these in its sshd_config, and run \"sudo systemctl reload ssh\" there."))
  }
}
