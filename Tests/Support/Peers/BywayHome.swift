package import TestTools

/// A user of the `byway` command with a home folder that contains no settings at first.
package struct BywayHome: Sendable {
  package let folder: TemporaryFolder
  package var environment: [String: String] { ["XDG_CONFIG_HOME": folder.path] }

  package init() throws {
    folder = try TemporaryFolder()
  }

  /// Runs a command to its end.
  package func byway(_ arguments: String...) async throws -> CommandResult {
    try await BywayProcess.run(arguments, environment: environment)
  }
}
