import BywayLibC
import BywayPrimitives
import BywayTerminal

/// Checks whether a daemon can create a file or folder, without creating it.
enum CreationCheck {
  /// Checks a file that is written, and created if it does not exist.
  static func check(file path: String) throws(CommandFailure) {
    switch try? FileStatus(of: path).kind {
    case .folder: throw failure(path, EISDIR)
    case nil: try check(access: SharedPlace.parent(of: path), W_OK | X_OK, for: path)
    default: try check(access: path, W_OK, for: path)
    }
  }

  /// Checks a folder in which files are created, and that is created if it does not exist.
  static func check(folder path: String) throws(CommandFailure) {
    switch try? FileStatus(of: path).kind {
    case .folder: try check(access: path, W_OK | X_OK, for: path)
    case nil: try check(access: SharedPlace.parent(of: path), W_OK | X_OK, for: path)
    default: throw failure(path, ENOTDIR)
    }
  }

  private static func check(access path: String, _ mode: CInt, for wanted: String) throws(CommandFailure) {
    if access(path, mode) != 0 { throw failure(wanted, errno) }
  }

  private static func failure(_ path: String, _ code: CInt) -> CommandFailure {
    CommandFailure(.cannotCreate, "Cannot create \(path): \(SystemError(code: code)).")
  }
}
