/// What serves until it is stopped.
protocol Service: Sendable {
  /// Said on standard error when it serves.
  var readyLines: [String] { get async }
  func waitUntilEnded() async throws
  /// How it is, in a line.
  var statusLine: String { get async }
  /// Lets what is running finish, for as long as the user has given it.
  func stop() async
  /// Reads its configuration anew.
  func reload() async -> ReloadResult
  /// Opens again what it writes: who rotates logs has renamed it.
  func reopenFiles() async
}

/// What became of a reload.
enum ReloadResult: Sendable, Hashable {
  case done
  /// Why not, one reason on each line.
  case refused(String)
}

extension Service {
  func reload() async -> ReloadResult { .refused("There is nothing to reload.") }
  func reopenFiles() async {}
}
