import Byway
import BywayLibC

/// Checks that this user may open the device.
struct DevicePermissionCheck: LinkCheck {
  static let title = "permission"

  let path: String

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    guard access(path, R_OK | W_OK) != 0 else { return .sound("This user may read and write it.") }
    return .wrong(DeviceGroup(of: path).diagnosis(of: path))
  }
}
