/// har_check.py: whether a file is what HAR 1.2 says.
package enum HARCheck {
  /// What is wrong with it, one line each; empty where nothing is.
  package static func problems(in path: String) async throws -> String {
    let result = try await Program.python.run([Program.script("har_check.py"), path])
    guard [0, 1].contains(result.exitCode), result.errorText.isEmpty else {
      throw PeerFailure("har_check.py ended with \(result.exitCode): \(result.errorText)")
    }
    return result.text
  }
}
