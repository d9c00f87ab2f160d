import BywayTerminal

/// A service that runs until it is stopped.
package protocol Service: Sendable {
  /// The notices on standard error when it is ready.
  var readyNotices: [ReadyNotice] { get async }
  func waitUntilEnded() async throws
  /// Its state in one line.
  var statusLine: String { get async }
  /// Stops, and lets running work finish within the user's time limit.
  func stop() async
  /// Reads its configuration again.
  func reload() async -> ReloadResult
  /// Opens its output files again, after a rotation has renamed them.
  func reopenFiles() async
}

extension Service {
  package func reload() async -> ReloadResult { .refused([CommandFailure(.usage, "There is nothing to reload.")]) }
  package func reopenFiles() async {}
}
