import Glibc
import Logging
import NIOCore
import NIOPosix
import Primitives

/// The service manager that has started this daemon, systemd for example; who started it in another way is told nothing.
struct ServiceManager: Sendable {
  private let socket: NotificationSocket?
  private let watchdogLimit: Duration?
  private let logger: Logger

  /// Takes what systemd has left in the environment, so that no child of this process takes itself for the service.
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

  /// Serving, for the first time or after a reload.
  func ready(status: String) { tell(.ready(status: status)) }

  /// Reads its configuration; ``ready(status:)`` ends that, whether there is a new one or the old one stays.
  func reloading() { tell(.reloading(since: MonotonicClock.now)) }

  /// - Parameter patience: what running requests may still need.
  func stopping(within patience: TimeAmount) {
    // What is left of them is closed then, and that needs a moment as well.
    tell(.stopping(within: (patience + .seconds(5)).nanoseconds / 1000))
  }

  /// Gives the signs of life that were asked for, and the status where it has changed, until its task is cancelled; returns at
  /// once where none were.
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
      logger.warning("The service manager cannot be told", metadata: ["notice": "\(notice)", "reason": "\(error)"])
    }
  }
}
