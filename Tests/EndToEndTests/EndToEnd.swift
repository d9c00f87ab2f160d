import TestPeers
import Testing

/// The `byway` command as people run it, mostly when something is wrong. One test at a time: all start processes.
@Suite("End to end", .serialized, .timeLimit(.minutes(5))) enum EndToEnd {
  /// A command must have ended with this code and said these words, in one line and without a crash's traces.
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

  /// Waits for something that nothing tells of.
  static func waitUntil(
    _ what: String, within limit: Duration = .seconds(10), _ isMet: () async throws -> Bool
  ) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !isMet() {
      guard ContinuousClock.now < deadline else { throw PeerFailure("never: \(what)") }
      try await Task.sleep(for: .milliseconds(5))
    }
  }
}
