import AuthorityChecks
import FuzzSupport
import Testing

/// Every input of Fuzz/Seeds and Fuzz/Findings, with random mutations.
@Suite struct FuzzReplayTests {
  @Test("authority fuzzing inputs that once failed still pass") func replay() {
    let inputs = FuzzInputs("Authority")
    #expect(!inputs.all.isEmpty)
    #expect(inputs.firstFailure(of: AuthorityCheck.check) == nil)
  }
}
