import Glibc
import Logging

/// Runs a service as a process: says when it is ready, and does what signals ask for.
struct DaemonService<Served: Service>: Sendable {
  private let start: @Sendable () async throws -> Served

  /// - Parameter start: what a signal may end as well.
  init(start: @escaping @Sendable () async throws -> Served) {
    self.start = start
  }

  /// Returns when it has ended by itself, as a gateway on `stdio:` does, or was stopped by a signal.
  func runToEnd(logger: Logger) async throws {
    // What SIGHUP did before this process takes it is a part of it.
    let terminal = ControllingTerminal()
    let arrivals = await Signal.arrivals(of: DaemonSignals.all)
    let (requests, request) = AsyncStream<DaemonSignals.Meaning>.makeStream(bufferingPolicy: .bufferingOldest(8))
    let watching = Task {
      var isFirst = true
      for await signal in arrivals {
        switch DaemonSignals.meaning(of: signal, terminal: terminal) {
        case .stop:
          // A user who asks twice does not want to wait.
          if !isFirst { exit(128 + signal.number) }
          isFirst = false
          request.finish()
        case let meaning:
          request.yield(meaning)
        }
      }
    }
    defer { watching.cancel() }
    try await run(requests, logger: logger)
  }

  /// - Parameter requests: end when it is to stop.
  private func run(_ requests: AsyncStream<DaemonSignals.Meaning>, logger: Logger) async throws {
    let manager = ServiceManager.ofThisProcess(logger: logger)
    let service = try await start()
    ResidentMemory.releaseStartUp()
    let lines = await service.readyLines
    for line in lines { StandardStream.error.writeLine(line) }
    manager.ready(status: Self.status(lines))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for await request in requests {
          switch request {
          case .reload:
            manager.reloading()
            _ = await service.reload()
            manager.ready(status: Self.status(await service.readyLines))
          case .nothing(let signal): logger.notice("\(signal) is ignored: it means nothing to this program.")
          case .stop: break
          }
        }
        // Ends with a signal, or because the service did: stopping is right for both.
        manager.stopping(within: await service.patience)
        await service.stop()
      }
      group.addTask { await manager.giveSigns() }
      defer { group.cancelAll() }
      try await service.waitUntilEnded()
    }
  }

  private static func status(_ readyLines: [String]) -> String {
    readyLines.map { $0.hasPrefix("byway: ") ? String($0.dropFirst("byway: ".count)) : $0 }.joined(separator: "; ")
  }
}
