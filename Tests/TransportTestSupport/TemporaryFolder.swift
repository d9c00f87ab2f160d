internal import Foundation

/// A folder with a short name, as socket paths are short, that is gone afterwards.
package func withTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  var template = Array("/tmp/byway-XXXXXX\0".utf8CString)
  guard let made = mkdtemp(&template) else { throw FixtureError("mkdtemp") }
  let folder = String(cString: made)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  return try await body(folder)
}

/// Something that a test needs cannot be made.
package struct FixtureError: Error {
  package let message: String

  package init(_ message: String) { self.message = message }
}
