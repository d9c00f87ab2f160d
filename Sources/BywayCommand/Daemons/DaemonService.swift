import Glibc
import Logging
import Primitives

/// Runs a service as a process: says when it is ready, and does what signals ask for.
struct DaemonService<Served: Service>: Sendable {
  private let canReload: Bool
  private let start: @Sendable (ServiceManager) async throws -> Served

  /// - Parameter start: what a signal may end as well. The service tells the manager of its reloads, and of its end.
  init(canReload: Bool = true, start: @escaping @Sendable (ServiceManager) async throws -> Served) {
    self.canReload = canReload
    self.start = start
  }

  /// Returns when it has ended by itself, as a gateway on `stdio:` does, or was stopped by a signal.
  func runToEnd(logger: Logger) async throws {
    // What SIGHUP did before this process takes it is a part of it.
    let terminal = ControllingTerminal()
    let arrivals = await Signal.arrivals(of: DaemonSignals.all)
    let (requests, request) = AsyncStream<DaemonSignals.Meaning>.makeStream(bufferingPolicy: .bufferingOldest(8))
    let (stop, end) = AsyncStream<Void>.makeStream()
    let watching = Task {
      var isFirst = true
      for await signal in arrivals {
        switch DaemonSignals.meaning(of: signal, terminal: terminal, canReload: canReload) {
        case .stop:
          // A user who asks twice does not want to wait.
          if !isFirst { exit(128 + signal.number) }
          isFirst = false
          end.finish()
        case let meaning:
          request.yield(meaning)
        }
      }
    }
    defer { watching.cancel() }
    try await run(requests, until: stop, logger: logger)
  }

  /// - Parameter stop: has no elements; it ends.
  private func run(
    _ requests: AsyncStream<DaemonSignals.Meaning>, until stop: AsyncStream<Void>, logger: Logger
  ) async throws {
    let manager = ServiceManager.ofThisProcess(logger: logger)
    let service = try await start(manager)
    ResidentMemory.releaseStartUp()
    for notice in await service.readyNotices {
      try? Descriptor.write(
        notice.bytes(LogLevels.currentFormat, at: .now(), isSeen: StandardStream.error.isTerminal), to: STDERR_FILENO)
    }
    manager.ready(status: await service.statusLine)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for await request in requests {
          switch request {
          // The service has the reload. The end of this process does not wait for a file that cannot be read.
          case .reload: Task { await service.reload() }
          case .reopenFiles: await service.reopenFiles()
          case .nothing(let signal): logger.notice("\(signal) is ignored: it means nothing to this program.")
          case .stop: break
          }
        }
      }
      group.addTask {
        // Ends with a signal, or because the service did: stopping is right for both. A reload need not have come to its end.
        for await _ in stop {}
        await service.stop()
      }
      group.addTask { await manager.giveSigns { await service.statusLine } }
      defer { group.cancelAll() }
      try await service.waitUntilEnded()
    }
  }
}
