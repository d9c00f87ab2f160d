import NIOCore

/// What serves until it is stopped.
protocol Service: Sendable {
  /// Said on standard error when it serves.
  var readyLines: [String] { get async }
  func waitUntilEnded() async throws
  /// What requests that run are given when it stops.
  var patience: TimeAmount { get async }
  /// Lets what is running finish, for as long as that.
  func stop() async
  /// Reads its configuration anew.
  func reload() async -> ReloadResult
}

/// What became of a reload.
enum ReloadResult: Sendable, Hashable {
  case done
  /// Why not, one reason on each line.
  case refused(String)
}

extension Service {
  func reload() async -> ReloadResult { .refused("There is nothing to reload.") }
}
