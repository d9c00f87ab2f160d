import Foundation
import TestPeers
import Testing

extension EndToEnd {
  @Suite("Soak") struct SoakTests {
    /// A short form of `make soak`, which runs for half an hour.
    @Test("every link survives a short run of all faults at once") func short() async throws {
      let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Soak/soak.py").path
      let result = try await Program.python.run(
        [script, "--byway", BywayProcess.command(), "--minutes", "0.2", "--clients", "3", "--faults", "0"],
        within: .seconds(200),
        environment: ["PYTHONDONTWRITEBYTECODE": "1"])
      #expect(result.exitCode == 0, "\(result.text) \(result.errorText)")
    }
  }
}
