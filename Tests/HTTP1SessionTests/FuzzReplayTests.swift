import FuzzSupport
import HTTP1Checks
import Testing

/// Every input of Fuzz/Seeds and Fuzz/Findings, and what grows out of them by chance.
@Suite struct FuzzReplayTests {
  @Test("what was found once stays mended") func replay() {
    let inputs = FuzzInputs("HTTP1")
    #expect(inputs.all.count >= 14)
    #expect(inputs.firstFailure(of: HTTP1Check.check) == nil)
  }

  @Test("and of whole connections") func replayConnections() {
    let inputs = FuzzInputs("HTTP1Connection")
    #expect(inputs.all.count >= 18)
    #expect(inputs.firstFailure(of: ConnectionCheck.check) == nil)
  }
}
