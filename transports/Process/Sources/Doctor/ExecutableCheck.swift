import Byway
import Glibc
import Primitives

/// Checks that the file is a program, and that this user may run it.
struct ExecutableCheck: LinkCheck {
  static let title = "executable"

  let path: String

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    let status: FileStatus
    do {
      status = try FileStatus(of: path)
    } catch {
      return .wrong(Diagnosis(.noPermission, "\(path) cannot be looked at: \(error)."))
    }
    let mode = String(status.permissions, radix: 8)
    guard status.kind == .regular else {
      return .wrong(Diagnosis(.notExecutable, "\(path) is not a program: correct the link."))
    }
    guard access(path, X_OK) == 0 else {
      return .wrong(
        Diagnosis(
          .notExecutable, "\(path) is not executable (mode \(mode)): allow it, or correct the link.",
          command: "chmod +x \(ShellWord.of(path))"))
    }
    return .sound("This user may run it (mode \(mode)).")
  }
}
