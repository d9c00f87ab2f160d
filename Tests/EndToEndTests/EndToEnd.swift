import TestPeers
import TestTools
import Testing

/// The built `byway` command, mostly in error cases. Tests run one at a time, because all start processes.
@Suite("End to end", .serialized, .timeLimit(.minutes(5))) enum EndToEnd {
  /// Checks a command's exit code, and that its message is one line with these words, without a crash's stack trace.
  static func expect(
    _ result: CommandResult, code: Int32, words: [String], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(result.exitCode == code, "\(result.errorText)", sourceLocation: sourceLocation)
    for word in words {
      #expect(
        result.errorText.lowercased().contains(word.lowercased()), "no \"\(word)\" in: \(result.errorText)",
        sourceLocation: sourceLocation)
    }
    #expect(result.errorText.hasPrefix("byway: "), "\(result.errorText)", sourceLocation: sourceLocation)
    #expect(!result.errorText.contains("Fatal error"), "\(result.errorText)", sourceLocation: sourceLocation)
  }

  /// Polls a condition that has no notification.
  static func waitUntil(
    _ what: String, within limit: Duration = .seconds(10), _ isMet: () async throws -> Bool
  ) async throws {
    guard try await eventually(within: limit, isMet) else { throw PeerFailure("never: \(what)") }
  }
}
