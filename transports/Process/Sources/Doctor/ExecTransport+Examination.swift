package import Byway
import Glibc

extension ExecTransport: Examinable {
  package func examine(_ address: LinkAddress, in context: LinkContext) async throws(ExaminationEnd) -> MediumState {
    let program = try await context.make(ProgramCheck(address: address))
    try await context.make(ExecutableCheck(path: program))
    return .free
  }

  /// Diagnoses an error of the program, which may print a greeting or an error message on its standard output.
  package func diagnose(_ error: BywayError, on address: LinkAddress) -> Diagnosis? {
    guard let command = try? CommandLineWords(address.path) else { return nil }
    if let failure = error.cause as? ChildProcess.SpawnFailure, failure.code == ENOEXEC {
      return Diagnosis(.notExecutable, error.message)
    }
    return Diagnosis(chatterOf: command.name, error)
  }
}
