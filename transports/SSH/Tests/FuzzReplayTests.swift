import FuzzSupport
import SSHChecks
import Testing

/// Replays every input of Fuzz/Seeds and Fuzz/Findings, and random variations of them.
@Suite struct FuzzReplayTests {
  private static let checks: [(name: String, check: @Sendable ([UInt8]) throws -> Void)] = [
    ("KnownHosts", KnownHostsCheck.check), ("SSHConfig", SSHConfigCheck.check),
  ]

  @Test("SSH fuzzing inputs that once failed still pass", arguments: checks.indices) func replay(_ index: Int) {
    let (target, check) = Self.checks[index]
    let inputs = FuzzInputs(target)
    #expect(!inputs.all.isEmpty)
    #expect(inputs.firstFailure(of: check) == nil)
  }
}
