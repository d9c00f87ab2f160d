import Byway
import BywayPrimitives
import Glibc

/// Checks that the file is a program, and that this user may run it.
struct ExecutableCheck: LinkCheck {
  static let title = "executable"

  let path: String

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    guard let status = try? FileStatus(of: path), status.kind == .regular, access(path, X_OK) == 0 else {
      return .wrong(ProgramFailure.notExecutable(path))
    }
    return .sound("This user may run it (mode \(String(status.permissions, radix: 8))).")
  }
}
