import BywayLibC
import BywayPrimitives
package import BywayTerminal

/// A folder that only its user can access.
package struct PrivateFolder: Sendable {
  package let path: String

  /// Creates a folder in another one; without it, in `TMPDIR` or /tmp.
  package init(in parent: String? = nil) throws(CommandFailure) {
    let parent = parent ?? Environment["TMPDIR"] ?? "/tmp"
    do {
      path = try Folder.makeTemporary(in: parent, prefix: "byway")
    } catch {
      throw CommandFailure(.cannotCreate, "Cannot create a folder in \(parent): \(error). Set TMPDIR to another.")
    }
  }

  /// Removes the folder, which must be empty.
  package func remove() {
    rmdir(path)
  }
}
