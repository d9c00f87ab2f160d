import Glibc
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// What serves until it is stopped.
protocol Daemon: Sendable {
  func waitUntilEnded() async throws
  func stop(within patience: TimeAmount) async
}

/// A daemon as a service: says when it is ready, and stops gracefully when a signal asks for it.
struct DaemonService<Served: Daemon>: Service {
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
    let signals = await UnixSignalsSequence(trapping: plan.stopping)
    let secondSignal = Task { await Self.exitOnSecond(of: signals) }
    let others = await UnixSignalsSequence(trapping: plan.ignored)
    let ignoring = Task {
      for await signal in others {
        logger.notice(
          "\(signal) is ignored: nothing is reloaded while this runs. Start it again to read its configuration.")
      }
    }
    defer {
      secondSignal.cancel()
      ignoring.cancel()
    }
    let service = ServiceGroupConfiguration.ServiceConfiguration(
      service: self, successTerminationBehavior: .gracefullyShutdownGroup)
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: [service], gracefulShutdownSignals: plan.stopping, logger: quiet))
    try await group.run()
  }

  func run() async throws {
    let (daemon, readyLine) = try await start()
    ResidentMemory.releaseStartUp()
    StandardStream.error.writeLine(readyLine)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        // Ends with a signal, or because the daemon did: stopping is right for both.
        try? await gracefulShutdown()
        await daemon.stop(within: drain.amount)
      }
      defer { group.cancelAll() }
      try await daemon.waitUntilEnded()
    }
  }

  /// A user who asks twice does not want to wait.
  private static func exitOnSecond(of signals: UnixSignalsSequence) async {
    var isFirst = true
    for await signal in signals {
      if !isFirst { exit(128 + signal.rawValue) }
      isFirst = false
    }
  }
}
