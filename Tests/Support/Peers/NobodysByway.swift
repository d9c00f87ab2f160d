import Foundation
package import TestTools

/// The `byway` command run without root privileges. Tests that run as root start it as the user nobody.
package struct NobodysByway: Sendable {
  /// The program to start; ``prefix`` has the arguments before those of the command.
  package let program: String
  package let prefix: [String]

  /// - Parameter folder: for a copy of the command, since the user nobody may have no access to the build folder.
  package init(in folder: TemporaryFolder) async throws {
    guard geteuid() == 0 else {
      program = try BywayProcess.command()
      prefix = []
      return
    }
    let copy = folder["byway"]
    try await Program.install(BywayProcess.command(), as: copy)
    program = try Program.setpriv.path()
    prefix = ["--reuid=65534", "--regid=65534", "--clear-groups", copy]
  }

  /// Removes the access of ``run(_:)`` to a path.
  package func forbid(_ path: String) {
    chmod(path, geteuid() == 0 ? 0o700 : 0o000)
  }

  package func run(_ arguments: [String]) async throws -> CommandResult {
    try await Program.run(program, prefix + arguments)
  }
}
