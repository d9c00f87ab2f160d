import BywayTesting
import Testing

/// Every transport must pass every check of the compatibility kit.
@Suite(.serialized) struct TransportMatrixTests {
  @Test("every transport passes the compatibility kit", .timeLimit(.minutes(2)), arguments: TransportSubject.all)
  func passes(_ subject: TransportSubject) async throws {
    try await subject.withKit { kit in
      for check in kit.checks {
        do {
          try await kit.run(check)
        } catch {
          Issue.record(error)
        }
      }
    }
  }
}
