import Glibc
import Primitives

/// A folder that nobody else can look into.
struct PrivateFolder: Sendable {
  let path: String

  /// In `TMPDIR`, or /tmp.
  init() throws(CommandFailure) {
    let parent = Environment["TMPDIR"] ?? "/tmp"
    do {
      path = try Folder.makeTemporary(in: parent, prefix: "byway")
    } catch {
      throw CommandFailure(.cannotCreate, "Cannot create a folder in \(parent): \(error). Set TMPDIR to another.")
    }
  }

  /// Once it is empty.
  func remove() {
    rmdir(path)
  }
}
