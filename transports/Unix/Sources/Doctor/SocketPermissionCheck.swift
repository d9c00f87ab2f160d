import BywayDoctor
import Glibc
import Primitives

/// Checks that this user may write to the socket, which is required to connect (unix(7)).
struct SocketPermissionCheck: Check {
  static let title = "permission"

  let path: SocketPath

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    let status = try FileStatus(of: path.text)
    let mode = String(status.permissions, radix: 8)
    guard access(path.text, W_OK) != 0 else { return .sound("This user may connect (mode \(mode)).") }
    return .wrong(
      Diagnosis(
        .noPermission,
        "Permission denied on \(path.text) (mode \(mode), user \(status.owner), group \(status.group)): give the gateway's "
          + "link a wider ?mode=, or run as a user or group that may write to it."))
  }
}
