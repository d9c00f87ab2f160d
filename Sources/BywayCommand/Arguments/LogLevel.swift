import ArgumentParser
import Logging

/// How much a daemon says after its ready line.
enum LogLevel: String, ExpressibleByArgument, CaseIterable, Sendable {
  case trace, debug, info, notice, warning, error, critical

  /// To standard error: standard output may be the link.
  func logger(_ label: String) -> Logger {
    LogLevels.set(self)
    return Logger(label: label, factory: { DaemonLogHandler(label: $0) })
  }

  var level: Logger.Level { Logger.Level(rawValue: rawValue) ?? .info }
}
