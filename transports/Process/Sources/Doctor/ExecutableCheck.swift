import Byway
import BywayPrimitives

/// Checks that the file is a program, and that this user may run it.
struct ExecutableCheck: LinkCheck {
  static let title = "executable"

  let path: String

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    guard ProgramFailure.isExecutable(path), let status = try? FileStatus(of: path) else {
      return .wrong(ProgramFailure.notExecutable(path))
    }
    return .sound("This user may run it (mode \(String(status.permissions, radix: 8))).")
  }
}
