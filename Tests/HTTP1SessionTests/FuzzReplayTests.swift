import FuzzSupport
import HTTP1Checks
import Testing

/// Every input of Fuzz/Seeds and Fuzz/Findings, with random mutations.
@Suite struct FuzzReplayTests {
  @Test("HTTP/1.1 fuzzing inputs of parsers that once failed still pass") func replay() {
    let inputs = FuzzInputs("HTTP1")
    #expect(inputs.all.count >= 14)
    #expect(inputs.firstFailure(of: HTTP1Check.check) == nil)
  }

  @Test("HTTP/1.1 fuzzing inputs of connections that once failed still pass") func replayConnections() {
    let inputs = FuzzInputs("HTTP1Connection")
    #expect(inputs.all.count >= 18)
    #expect(inputs.firstFailure(of: ConnectionCheck.check) == nil)
  }
}
