import Foundation
import Primitives

/// A folder of a test's own, with a path short enough for Unix sockets in it; gone when the last user lets go of it.
package final class TemporaryFolder: Sendable {
  package let path: String

  package init() throws {
    path = try Folder.makeTemporary(in: "/tmp", prefix: "bw")
    // The workers of nginx, and tests of refused access, run as another user.
    chmod(path, 0o755)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  package subscript(_ name: String) -> String { "\(path)/\(name)" }

  /// What is in it, sorted.
  package var names: [String] { ((try? Folder.names(in: path)) ?? []).sorted() }

  /// Who may do what with a file or folder in it, as `chmod` counts it.
  package func permissions(of name: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: self[name])[.posixPermissions] as? Int
  }

  /// Writes a file and answers its path.
  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    try text.write(toFile: self[name], atomically: false, encoding: .utf8)
    return self[name]
  }
}

/// The same for as long as a test's body runs.
package func withTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let folder = try TemporaryFolder()
  defer { withExtendedLifetime(folder) {} }
  return try await body(folder.path)
}
