import FuzzSupport
import InterceptorChecks
import Testing

/// Every input of Fuzz/Seeds and Fuzz/Findings, with random mutations.
@Suite struct FuzzReplayTests {
  private static let checks: [(name: String, check: @Sendable ([UInt8]) throws -> Void)] = [
    ("CacheFile", CacheFileCheck.check), ("LoginFile", LoginFileCheck.check), ("StubFile", StubFileCheck.check),
    ("Recording", RecordingCheck.check), ("URL", URLCheck.check),
  ]

  @Test("interceptor fuzzing inputs that once failed still pass", arguments: checks.indices) func replay(_ index: Int) {
    let (target, check) = Self.checks[index]
    let inputs = FuzzInputs(target)
    #expect(!inputs.all.isEmpty)
    #expect(inputs.firstFailure(of: check) == nil)
  }
}
