import Foundation
import TestPeers

/// What a command did on a terminal of its own.
struct TerminalRun: Decodable {
  /// All that it wrote, escape sequences included.
  let output: String
  /// Negative: the signal that killed it.
  let status: Int
  /// The terminal's settings while it ran differed from those before; those after do not.
  let wasChanged: Bool
  let isUnchanged: Bool

  /// - Parameter steps: pairs of what to wait for in new output, and which keys to press then, or which signal to send.
  static func of(_ arguments: [String], _ steps: [String]..., columns: Int = 100) async throws -> TerminalRun {
    try await Script.terminal.run(
      ["\(columns)"] + steps.joined() + ["--", BywayProcess.command()] + arguments)
  }
}
