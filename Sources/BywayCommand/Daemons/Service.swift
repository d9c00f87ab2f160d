/// What serves until it is stopped.
protocol Service: Sendable {
  /// Said on standard error when it serves.
  var readyNotices: [ReadyNotice] { get async }
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
enum ReloadResult: Sendable {
  case done
  /// Why not; at least one reason.
  case refused([CommandFailure])
}

extension [CommandFailure] {
  /// One on each line.
  var lines: String { map(\.message).joined(separator: "\n") }

  /// Of the whole.
  var status: ExitStatus { first?.status ?? .usage }
}

extension Service {
  func reload() async -> ReloadResult { .refused([CommandFailure(.usage, "There is nothing to reload.")]) }
  func reopenFiles() async {}
}
