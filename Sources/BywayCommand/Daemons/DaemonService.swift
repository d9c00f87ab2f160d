import Glibc
import Logging
import NIOCore

/// What serves until it is stopped.
protocol Daemon: Sendable {
  func waitUntilEnded() async throws
  func stop(within patience: TimeAmount) async
}

/// Runs a daemon: says when it is ready, and stops it gracefully when a signal asks for that.
struct DaemonService<Served: Daemon>: Sendable {
  private let drain: Seconds
  private let start: @Sendable () async throws -> (Served, readyLine: String)

  /// - Parameter start: gives the daemon, and the line that says so.
  init(drain: Seconds, start: @escaping @Sendable () async throws -> (Served, readyLine: String)) {
    self.drain = drain
    self.start = start
  }

  /// Returns when it has ended by itself, as a gateway on `stdio:` does, or was stopped by a signal.
  func runToEnd(logger: Logger) async throws {
    let plan = DaemonSignals.ofThisProcess()
    let stopping = await Signal.arrivals(of: plan.stopping)
    let ignored = await Signal.arrivals(of: plan.ignored)
    let (stop, end) = AsyncStream<Void>.makeStream()
    let watching = Task {
      var isFirst = true
      for await signal in stopping {
        // A user who asks twice does not want to wait.
        if !isFirst { exit(128 + signal.number) }
        isFirst = false
        end.finish()
      }
    }
    let ignoring = Task {
      for await signal in ignored {
        logger.notice(
          "\(signal) is ignored: nothing is reloaded while this runs. Start it again to read its configuration.")
      }
    }
    defer {
      watching.cancel()
      ignoring.cancel()
    }
    try await run(until: stop)
  }

  /// - Parameter stop: has no elements; it ends.
  private func run(until stop: AsyncStream<Void>) async throws {
    let (daemon, readyLine) = try await start()
    ResidentMemory.releaseStartUp()
    StandardStream.error.writeLine(readyLine)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        // Ends with a signal, or because the daemon did: stopping is right for both.
        for await _ in stop {}
        await daemon.stop(within: drain.amount)
      }
      defer { group.cancelAll() }
      try await daemon.waitUntilEnded()
    }
  }
}
