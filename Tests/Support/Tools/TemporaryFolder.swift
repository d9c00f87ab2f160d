import BywayPrimitives
import Foundation

/// A temporary folder for one test, with a path short enough for Unix sockets; it is deleted with the last reference.
package final class TemporaryFolder: Sendable {
  package let path: String

  package init() throws {
    path = try Folder.makeTemporary(in: "/tmp", prefix: "bw")
    // The workers of nginx and tests of denied access run as another user.
    chmod(path, 0o755)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  package subscript(_ name: String) -> String { "\(path)/\(name)" }

  /// The names of the folder's entries, sorted.
  package var names: [String] { ((try? Folder.names(in: path)) ?? []).sorted() }

  /// Returns the permission bits of an entry.
  package func permissions(of name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: self[name])[.posixPermissions] as? Int
  }

  /// Writes a file and returns its path.
  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    try text.write(toFile: self[name], atomically: false, encoding: .utf8)
    return self[name]
  }
}

/// Runs a test's body with a temporary folder.
package func withTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let folder = try TemporaryFolder()
  defer { withExtendedLifetime(folder) {} }
  return try await body(folder.path)
}
