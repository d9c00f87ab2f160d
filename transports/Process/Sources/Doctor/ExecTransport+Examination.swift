package import Byway

extension ExecTransport: Examinable {
  package func examine(_ address: LinkAddress, in context: LinkContext) async throws(ExaminationEnd) -> MediumState {
    let program = try await context.make(ProgramCheck(address: address))
    try await context.make(ExecutableCheck(path: program))
    return .free
  }

  /// Diagnoses an error of the program, which may print a greeting or an error message on its standard output.
  package func diagnose(_ error: BywayError, on address: LinkAddress) -> Diagnosis? {
    (try? CommandLineWords(address.path)).flatMap { Diagnosis(chatterOf: $0.name, error) }
  }
}
