import Byway

/// Checks that the program of the link exists.
struct ProgramCheck: LinkCheck {
  static let title = "program"

  let address: LinkAddress

  /// - Returns: the path of the program.
  func examine(_ resources: OpenedResources) async throws -> Finding<String> {
    let program: String
    do {
      program = try CommandLineWords(address.path).words[0]
    } catch {
      return .wrong(Diagnosis(.badSettings, BywayError(error).message))
    }
    guard let path = ProgramFailure.path(of: program) else { return .wrong(ProgramFailure.missing(program)) }
    return .sound(path == program ? "\(program) is there." : "\(program) is \(path).", path)
  }
}
