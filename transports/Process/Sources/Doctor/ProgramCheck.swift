import Byway
import Glibc
import Primitives

/// Checks that the program of the link exists.
struct ProgramCheck: LinkCheck {
  static let title = "program"

  let address: LinkAddress

  /// - Returns: the path of the program, looked up in the search path if needed.
  func examine(_ resources: OpenedResources) async throws -> Finding<String> {
    let program: String
    do {
      program = try CommandLineWords(address.path).words[0]
    } catch {
      return .wrong(Diagnosis(.badSettings, BywayError(error).message))
    }
    if program.contains("/") {
      guard access(program, F_OK) == 0 else {
        return .wrong(Diagnosis(.noProgram, "The program \(program) does not exist: correct the path."))
      }
      return .sound("\(program) is there.", program)
    }
    // Like posix_spawnp(3), skip files that cannot be run, but remember them.
    let folders = (Environment["PATH"] ?? "/bin:/usr/bin").split(separator: ":")
    let found = folders.map { "\($0)/\(program)" }.filter { (path: String) in access(path, F_OK) == 0 }
    guard let path = found.first(where: { (path: String) in access(path, X_OK) == 0 }) ?? found.first else {
      return .wrong(
        Diagnosis(.noProgram, "Command not found: \(program). Install it, or write its full path in the link."))
    }
    return .sound("\(program) is \(path).", path)
  }
}
