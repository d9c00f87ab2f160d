import BywayLibC
import BywayPrimitives
import Logging
package import NIOCore
import NIOPosix

/// The service manager that has started this daemon, such as systemd. Without one, notices are dropped.
package struct ServiceManager: Sendable {
  private let socket: NotificationSocket?
  private let watchdogLimit: Duration?
  private let logger: Logger

  /// Removes systemd's variables from the environment, so that no child of this process takes itself for the service.
  static func ofThisProcess(logger: Logger) -> ServiceManager {
    let name = Environment.take("NOTIFY_SOCKET")
    let limit = Environment.take("WATCHDOG_USEC").flatMap { Int64($0) }
    let watched = Environment.take("WATCHDOG_PID").flatMap { pid_t($0) } ?? getpid()
    return ServiceManager(
      socket: name.flatMap { NotificationSocket($0) },
      watchdogLimit: watched == getpid() ? limit.map { .microseconds($0) } : nil, logger: logger)
  }

  init(socket: NotificationSocket?, watchdogLimit: Duration?, logger: Logger) {
    self.socket = socket
    self.watchdogLimit = watchdogLimit.flatMap { $0 > .zero ? $0 : nil }
    self.logger = logger
  }

  /// Reports that the service is ready, for the first time or after a reload.
  package func ready(status: String) { tell(.ready(status: status)) }

  /// Reports a reload; ``ready(status:)`` reports its end, whether the configuration is new or the old one.
  package func reloading() { tell(.reloading(since: MonotonicClock.now)) }

  /// - Parameter patience: The time that running requests may still take.
  package func stopping(within patience: TimeAmount) {
    // Then the rest of them are closed, which takes a moment as well.
    tell(.stopping(within: (patience + .seconds(5)).nanoseconds / 1000))
  }

  /// Sends the signs of life that the manager expects, and the status when it has changed, until its task is cancelled. Returns at
  /// once if none are expected.
  func giveSigns(
    over loops: [any EventLoop] = Array(MultiThreadedEventLoopGroup.singleton.makeIterator()),
    status: () async -> String
  ) async {
    guard socket != nil, let watchdogLimit else { return }
    var last = await status()
    await Watchdog(over: loops, limit: watchdogLimit, logger: logger).run {
      tell(.alive)
      let now = await status()
      if now != last { tell(.status(now)) }
      last = now
    }
  }

  private func tell(_ notice: ServiceNotice) {
    guard let socket else { return }
    do {
      try socket.send(notice)
    } catch {
      logger.warning("The service manager cannot be notified", metadata: ["notice": "\(notice)", "reason": "\(error)"])
    }
  }
}
