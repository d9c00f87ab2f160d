import FuzzSupport
import HTTP2Checks
import Testing

/// Every input of Fuzz/Seeds and Fuzz/Findings, with random mutations.
@Suite struct FuzzReplayTests {
  @Test("HTTP/2 fuzzing inputs that once failed still pass") func replay() {
    let inputs = FuzzInputs("HTTP2")
    #expect(inputs.all.count >= 10)
    #expect(inputs.firstFailure(of: HTTP2Check.check) == nil)
  }
}
