import ServiceLifecycle

/// The life of a server within a `ServiceGroup`.
struct Serving: Sendable {
  /// How long running requests may take after a graceful shutdown has begun. A group's `maximumGracefulShutdownDuration` can be shorter.
  private static let drain = Duration.seconds(3600)

  private let ended: @Sendable () async throws -> Void
  private let stop: @Sendable (Duration) async -> Void

  /// - Parameters:
  ///   - ended: returns when the server has ended.
  ///   - stop: ends the server, whose requests may take this long. A later call can shorten the time.
  init(until ended: @escaping @Sendable () async throws -> Void, stop: @escaping @Sendable (Duration) async -> Void) {
    self.ended = ended
    self.stop = stop
  }

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await ended() }
      group.addTask {
        // Throws if the task is cancelled, also because the server has ended.
        do { try await gracefulShutdown() } catch { return await stop(.zero) }
        await withTaskCancellationHandler {
          await stop(Self.drain)
        } onCancel: {
          Task { await stop(.zero) }
        }
      }
      // The server ends by itself, or because it was stopped.
      do { try await group.next() } catch {
        group.cancelAll()
        throw error
      }
      group.cancelAll()
      try await group.waitForAll()
    }
  }
}
