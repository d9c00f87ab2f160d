import BywayLibC
import BywayPrimitives
import Logging
import NIOCore

/// A watchdog that reports that a daemon is alive: each sign has passed through every event loop and a task before it is sent.
///
/// It has no limit of its own. If one of them is stuck, the signs stop, and the service manager applies its limit.
struct Watchdog: Sendable {
  private let loops: [any EventLoop]
  /// The time from one sign to the next.
  private let period: Duration
  private let clock: any Clock<Duration>
  private let logger: Logger

  /// - Parameters:
  ///   - limit: The longest time that the service manager waits for a sign.
  ///   - clock: The clock for the pauses between signs.
  init(
    over loops: [any EventLoop], limit: Duration, clock: any Clock<Duration> = ContinuousClock(), logger: Logger
  ) {
    self.loops = loops
    self.clock = clock
    // As sd_watchdog_enabled(3) recommends.
    period = limit / 2
    self.logger = logger
  }

  /// Runs until its task is cancelled.
  func run(sign: () async -> Void) async {
    while !Task.isCancelled {
      await hearAll()
      await sign()
      try? await clock.sleep(for: period)
    }
  }

  private func hearAll() async {
    let late = Task {
      try await clock.sleep(for: period)
      logger.error(
        "An event loop does not answer; the service manager may end this process", metadata: ["for": "\(period)"])
    }
    defer { late.cancel() }
    for loop in loops { try? await loop.submit {}.get() }
  }
}
