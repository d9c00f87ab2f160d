import ServiceLifecycle
import Synchronization

/// The life of a server within a `ServiceGroup`.
struct Serving: Sendable {
  /// How long running requests may take after a graceful shutdown has begun. A group's `maximumGracefulShutdownDuration` can be shorter.
  private static let drain = Duration.seconds(3600)

  /// The calls that stop the server: at most one for the graceful shutdown, and one for the cancellation that cuts it short.
  private final class Stops: Sendable {
    private let tasks = Mutex<[Task<Void, Never>]>([])
    private let stop: @Sendable (Duration) async -> Void

    init(_ stop: @escaping @Sendable (Duration) async -> Void) {
      self.stop = stop
    }

    func begin(within patience: Duration) {
      tasks.withLock { tasks in tasks.append(Task { await stop(patience) }) }
    }

    func finish() async {
      for task in tasks.withLock(\.self) { await task.value }
    }
  }

  private let ended: @Sendable () async throws -> Void
  private let stop: @Sendable (Duration) async -> Void

  /// - Parameters:
  ///   - ended: returns when the server has ended.
  ///   - stop: ends the server, whose requests may take this long. A later call can shorten the time.
  init(until ended: @escaping @Sendable () async throws -> Void, stop: @escaping @Sendable (Duration) async -> Void) {
    self.ended = ended
    self.stop = stop
  }

  /// Returns when the server has ended: by itself, by a graceful shutdown, or by a cancellation.
  func run() async throws {
    let stops = Stops(stop)
    let result: Result<Void, any Error>
    do {
      try await withTaskCancellationHandler {
        try await withGracefulShutdownHandler {
          try await ended()
        } onGracefulShutdown: {
          stops.begin(within: Self.drain)
        }
      } onCancel: {
        stops.begin(within: .zero)
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await stops.finish()
    try result.get()
  }
}
