import BywayLibC
import BywayPrimitives
import BywayTerminal
package import Logging

/// A service as a process: it reports when it is ready, and acts on signals.
package struct DaemonService<Served: Service>: Sendable {
  private let canReload: Bool
  private let start: @Sendable (ServiceManager) async throws -> Served

  /// - Parameter start: Starts the service, which notifies the manager of its reloads and its end.
  package init(canReload: Bool = true, start: @escaping @Sendable (ServiceManager) async throws -> Served) {
    self.canReload = canReload
    self.start = start
  }

  /// Returns when the service has ended by itself, as a gateway on `stdio:` does, or after a signal has stopped it.
  package func runToEnd(logger: Logger) async throws {
    // This reads how SIGHUP was handled before this process takes it over.
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

  /// - Parameter stop: A stream without elements; its end is the request to stop.
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
          // The service owns the reload: the end of this process does not wait for a file that cannot be read.
          case .reload: Task { await service.reload() }
          case .reopenFiles: await service.reopenFiles()
          case .nothing(let signal): logger.notice("\(signal) is ignored: it means nothing to this program.")
          case .stop: break
          }
        }
      }
      group.addTask {
        // The loop ends with a signal or with the service; stopping is right in both cases. A reload may still be running.
        for await _ in stop {}
        await service.stop()
      }
      group.addTask { await manager.giveSigns { await service.statusLine } }
      defer { group.cancelAll() }
      try await service.waitUntilEnded()
    }
  }
}
