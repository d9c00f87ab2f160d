import Byway
import BywayLibC
import BywayPrimitives

/// Checks that this user may open the device.
struct DevicePermissionCheck: LinkCheck {
  static let title = "permission"

  let path: String

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    guard access(path, R_OK | W_OK) != 0 else { return .sound("This user may read and write it.") }
    let start = "Permission denied on \(path)"
    let group = DeviceGroup(of: path)
    guard let name = group.name else { return .wrong(Diagnosis(.noPermission, "\(start). \(group.advice)")) }
    guard !group.hasMember(geteuid()) else {
      return .wrong(
        Diagnosis(
          .noPermission,
          "\(start): this user has joined group \(name), and this login is older than that. Log in again, or begin a shell in the group.",
          command: "newgrp \(name)"))
    }
    return .wrong(
      Diagnosis(
        .noPermission, "\(start): only group \(name) may open it. Join the group, and log in again.",
        command: "sudo usermod -aG \(name) $USER"))
  }
}
