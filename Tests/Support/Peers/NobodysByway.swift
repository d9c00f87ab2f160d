import Foundation
package import TestTools

/// The `byway` command as one runs it to whom not everything is allowed: as root, to whom it is, the tests run it as nobody.
package struct NobodysByway: Sendable {
  /// The program to start, and the arguments that come before the command's own.
  package let program: String
  package let prefix: [String]

  /// - Parameter folder: for a copy: where the command was built, nobody may have no access.
  package init(in folder: TemporaryFolder) throws {
    guard geteuid() == 0 else {
      program = try BywayProcess.command()
      prefix = []
      return
    }
    let copy = folder["byway"]
    try FileManager.default.copyItem(atPath: BywayProcess.command(), toPath: copy)
    chmod(copy, 0o755)
    program = try Program.setpriv.path()
    prefix = ["--reuid=65534", "--regid=65534", "--clear-groups", copy]
  }

  /// Root may do all, and the owner of a file all that its mode lets owners do.
  package func forbid(_ path: String) {
    chmod(path, geteuid() == 0 ? 0o700 : 0o000)
  }

  package func run(_ arguments: [String]) async throws -> CommandResult {
    try await Program.run(program, prefix + arguments)
  }
}
