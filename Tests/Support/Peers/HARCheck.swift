/// A check of files against HAR 1.2, by har_check.py.
package enum HARCheck {
  /// Returns the violations, one per line; empty if there are none.
  package static func problems(in path: String) async throws -> String {
    let result = try await Program.python.run([Program.script("har_check.py"), path])
    guard [0, 1].contains(result.exitCode), result.errorText.isEmpty else {
      throw PeerFailure("har_check.py ended with \(result.exitCode): \(result.errorText)")
    }
    return result.text
  }
}
