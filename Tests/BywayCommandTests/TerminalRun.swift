import Foundation
import TestPeers

/// The run of a command on its own terminal.
struct TerminalRun: Decodable {
  /// The complete output, including escape sequences.
  let output: String
  /// The exit status; negative for the signal that killed the command.
  let status: Int
  /// Whether the terminal's settings were changed during the run and restored after it.
  let wasChanged: Bool
  let isUnchanged: Bool

  /// - Parameter steps: pairs of text to wait for in new output, and keys to press or a signal to send then.
  static func of(_ arguments: [String], _ steps: [String]..., columns: Int = 100) async throws -> TerminalRun {
    try await Script.terminal.run(
      ["\(columns)"] + steps.joined() + ["--", BywayProcess.command()] + arguments)
  }
}
